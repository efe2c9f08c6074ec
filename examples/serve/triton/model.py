# ===- model.py - A compiled model behind Triton --------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""A model of Triton's Python backend: runs the library beside it, for the batches that Triton gathers.

A model repository has this file as NAME/1/model.py, as NAME/1/compiled.so what hova compiled with
--emit=lib for a range of items (--set batch=1..8) or for one batch, and NAME/config.pbtxt. Names, types and shapes are those of
the library.
"""

from pathlib import Path

import hova
import numpy as np
import triton_python_backend_utils as pb_utils

LIBRARY = Path(__file__).with_name("compiled.so")
TYPES = {"float32": "TYPE_FP32", "int32": "TYPE_INT32", "int64": "TYPE_INT64", "bool": "TYPE_BOOL"}


def described(tensor):
    """As Triton describes it, without the batch."""
    return {"name": tensor.name, "data_type": TYPES[tensor.dtype], "dims": list(tensor.shape[1:])}


class TritonPythonModel:
    @staticmethod
    def auto_complete_config(config):
        with hova.load(LIBRARY, threads=1) as model:
            for tensor in model.inputs:
                config.add_input(described(tensor))
            for tensor in model.outputs:
                config.add_output(described(tensor))
            config.set_max_batch_size(model.inputs[0].shape[0])
        config.set_dynamic_batching()
        return config

    def initialize(self, arguments):
        # An instance is a process; Triton says how many there are.
        self.model = hova.load(LIBRARY, threads=1)
        self.batch = {tensor.name: np.zeros(tensor.shape, tensor.dtype) for tensor in self.model.inputs}
        self.runs_any_number = bool(self.model.ranges)

    def execute(self, requests):
        """Answers requests that Triton has gathered; together they are no more than a batch.

        A library for one batch runs whole ones. The places that are left hold older items: the result of an
        item depends on nothing but the item.
        """
        ends = [0]
        for request in requests:
            for name, array in self.batch.items():
                items = pb_utils.get_input_tensor_by_name(request, name).as_numpy()
                array[ends[-1] : ends[-1] + len(items)] = items
            ends.append(ends[-1] + len(items))
        count = ends[-1] if self.runs_any_number else None
        try:
            results = self.model({name: array[:count] for name, array in self.batch.items()})
        except hova.Error as error:
            # An integer out of its range: there is no telling whose.
            failure = pb_utils.TritonError(str(error))
            return [pb_utils.InferenceResponse(error=failure) for _ in requests]
        return [
            pb_utils.InferenceResponse([pb_utils.Tensor(name, array[begin:end]) for name, array in results.items()])
            for begin, end in zip(ends, ends[1:])
        ]

    def finalize(self):
        self.model.close()
