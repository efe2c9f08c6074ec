# SPDX-License-Identifier: Apache-2.0
# hova on any system that runs containers: the first stage builds the Debian packages as ./dev does, the second has what
# compiles models and nothing else.
#
#   docker build -t hova .
#   docker run --rm --user "$(id -u):$(id -g)" -v "$PWD:/work" hova compile model.json -o model
#
# What is compiled runs outside of the container: programs need glibc 2.28 or later and no hova. To work on hova itself,
# stop after the first stage: docker build --target build -t hova-build .
FROM debian:12-slim AS build
WORKDIR /hova
COPY . .
RUN ./dev package

FROM debian:12-slim
COPY --from=build /hova/build/package /packages
RUN apt-get update \
    && apt-get install -y --no-install-recommends /packages/hova_*.deb \
    && rm -rf /packages /var/lib/apt/lists/*
WORKDIR /work
ENTRYPOINT ["hova"]
