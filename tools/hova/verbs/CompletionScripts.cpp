//===- CompletionScripts.cpp - hova completion ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The scripts know nothing of hova but how it answers (Completion.h): they give
// it the words, and turn lines into what their shell offers.
//
// They ask the hova that is installed, whatever hova was typed: `./hova` may
// have come with an archive, and a key that completes must run nothing of it.
// So a folder that PATH names from where one stands does not count either.

#include "tools/hova/verbs/Verbs.h"
#include "llvm/ADT/StringSwitch.h"

namespace hova::tool {

static constexpr llvm::StringLiteral kBash = R"script(# bash completion for hova

_hova() {
  local installed
  installed=$(type -P hova)
  [[ $installed == /* ]] || return 0
  # Bash cuts words at '=' and ':'. Parts without a space between are one word;
  # 'kept' is what of the last one stays as it is.
  local line=${COMP_LINE:0:COMP_POINT} part word="" kept="" words=() i
  for ((i = 0; i <= COMP_CWORD; ++i)); do
    part=${COMP_WORDS[i]}
    if [[ $line == [[:space:]]* && i -gt 0 ]]; then
      words+=("$word")
      word="" kept=""
    fi
    line=${line#"${line%%[![:space:]]*}"}
    if ((i == COMP_CWORD)); then
      part=$line
      kept=$word
      [[ $part == [=:] ]] && kept=$word$part
    fi
    line=${line#"$part"}
    word+=$part
  done
  words+=("$word")
  # As the shell would give them to a program, as far as that has no effects.
  words=("${words[@]//[\'\"\\]/}")
  words=("${words[@]/#\~\//$HOME/}")
  word=${words[-1]}

  local candidate what prefix value extension files=()
  COMPREPLY=()
  while IFS=$'\t' read -r candidate what; do
    case $candidate in
    :*)
      prefix=${candidate#:* }
      value=${word#"$prefix"}
      mapfile -t -O "${#files[@]}" files < <(
        compgen -d -- "$value"
        [[ $candidate == :folders* ]] || [[ $what ]] || compgen -f -- "$value"
        for extension in $what; do
          compgen -f -X "!*.$extension" -- "$value"
        done
      )
      compopt -o filenames
      COMPREPLY+=("${files[@]/#/$prefix}")
      ;;
    *)
      COMPREPLY+=("$candidate")
      [[ $candidate == *[=\(] ]] && compopt -o nospace
      ;;
    esac
  done < <("$installed" completion --candidates "${words[@]:1}" 2>/dev/null)
  COMPREPLY=("${COMPREPLY[@]#"$kept"}")
} && complete -F _hova hova
)script";

static constexpr llvm::StringLiteral kZsh = R"script(#compdef hova
# zsh completion for hova

_hova() {
  local line candidate what prefix installed
  local -a asked lines closed open
  installed=$(whence -p hova)
  [[ $installed == /* ]] || return 1
  asked=("${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}")
  asked=("${(@)asked/#\~\//$HOME/}")
  lines=("${(@f)$("$installed" completion --candidates "${asked[@]}" 2>/dev/null)}")
  for line in "${lines[@]}"; do
    candidate=${line%%$'\t'*}
    what=${line#*$'\t'}
    case $candidate in
    :*)
      prefix=${candidate#:* }
      compset -P "${(b)prefix}"
      if [[ $candidate == :folders* ]]; then
        _files -/
      elif [[ -n $what ]]; then
        _files -g "*.(${what// /|})(-.)"
      else
        _files
      fi
      ;;
    *[=\(]) open+=("${candidate//:/\\:}:$what") ;;
    ?*) closed+=("${candidate//:/\\:}:$what") ;;
    esac
  done
  (($#closed)) && _describe -V hova closed
  (($#open)) && _describe -V hova open -S ''
}

# Loaded from a file of fpath it is called; read by a shell it is registered.
if [[ ${funcstack[1]} == _hova ]]; then
  _hova "$@"
else
  compdef _hova hova
fi
)script";

static constexpr llvm::StringLiteral kFish = R"script(# fish completion for hova

function __hova_candidates
    set -l installed (command -s hova)
    string match -q '/*' -- $installed; or return
    set -l words (commandline -opc) (commandline -ct)
    set -l typed $words[-1]
    for line in ($installed completion --candidates $words[2..] 2>/dev/null)
        set -l parts (string split -m 1 \t -- $line)
        if not string match -q ':*' -- $line
            printf '%s\n' $line
            continue
        end
        set -l prefix (string replace -r '^:\S+ ' '' -- $parts[1])
        set -l value (string sub -s (math 1 + (string length -- "$prefix")) -- $typed)
        set -l ending '.'
        string match -q ':folders*' -- $line; and set ending '/$'
        test -n "$parts[2]"; and set ending '(/|\.('(string replace -a ' ' '|' -- $parts[2])'))$'
        for file in (complete -C "__hova_no_command $value")
            set -l name (string split -m 1 \t -- $file)[1]
            string match -q -r $ending -- $name; and printf '%s%s\n' $prefix $name
        end
    end
end

complete -c hova -f -k -a '(__hova_candidates)'
)script";

int runCompletion(Arguments &arguments) {
  llvm::StringRef script =
      llvm::StringSwitch<llvm::StringRef>(arguments.model())
          .Case("bash", kBash)
          .Case("zsh", kZsh)
          .Case("fish", kFish)
          .Default("");
  if (script.empty()) {
    return arguments.usageError("expects bash, zsh or fish, got '" +
                                arguments.model() + "'");
  }
  llvm::outs() << script;
  return Ok;
}

} // namespace hova::tool
