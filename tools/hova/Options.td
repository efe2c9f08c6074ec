//===- Options.td - The options of hova -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One table for all verbs. An option is visible in the verbs that it lists; a
// value follows after `=` or as the next word.

include "llvm/Option/OptParser.td"

def GlobalVerb : OptionVisibility;
def CompileVerb : OptionVisibility;
def PackVerb : OptionVisibility;
def CheckVerb : OptionVisibility;
def SummaryVerb : OptionVisibility;
def ExplainVerb : OptionVisibility;
def VerifyVerb : OptionVisibility;
def EvaluateVerb : OptionVisibility;
def SchemaVerb : OptionVisibility;

// Verbs that read a description, compute with its weights, lower it, and
// generate code.
defvar readers = [CompileVerb, PackVerb, CheckVerb, SummaryVerb, ExplainVerb,
                  VerifyVerb, EvaluateVerb];
defvar runners = [CompileVerb, PackVerb, VerifyVerb, EvaluateVerb];
defvar generators = [CompileVerb, PackVerb, ExplainVerb, VerifyVerb];
defvar lowerers = [CompileVerb, VerifyVerb];
defvar extensible = !listconcat(readers, [SchemaVerb]);
defvar everyone = [GlobalVerb, CompileVerb, PackVerb, CheckVerb, SummaryVerb,
                   ExplainVerb, VerifyVerb, EvaluateVerb, SchemaVerb];

multiclass Value<string name, list<OptionVisibility> verbs, string value,
                 string help> {
  def NAME : Joined<["--"], name # "=">, Visibility<verbs>,
             MetaVarName<value>, HelpText<help>;
  def NAME#_word : Separate<["--"], name>, Visibility<verbs>,
                   Alias<!cast<Option>(NAME)>;
}

def help : Flag<["--"], "help">, Visibility<everyone>,
           HelpText<"Show this text">;
def help_short : Flag<["-"], "h">, Visibility<everyone>, Alias<help>;
def version : Flag<["--"], "version">, Visibility<[GlobalVerb]>,
              HelpText<"Show the versions of hova and LLVM, and the targets">;
def list_phases : Flag<["--"], "list-phases">, Visibility<[GlobalVerb]>,
                  HelpText<"Show the phases of a compilation and what each promises">;

def quiet : Flag<["--"], "quiet">, Visibility<readers>,
            HelpText<"Print no notes; errors and warnings alone">;
def quiet_short : Flag<["-"], "q">, Visibility<readers>, Alias<quiet>;

// The description.
defm set : Value<"set", readers, "NAME=VALUE",
                 "Override a parameter of the description; repeatable">;
defm diagnostics : Value<"diagnostics", readers, "text|json",
                         "How messages are written (default: text)">;
def werror : Flag<["--"], "werror">, Visibility<readers>,
             HelpText<"Warnings about the description are errors">;
defm color : Value<"color", readers, "auto|always|never",
                   "Colour in messages (default: auto)">;

// The weights.
defm weights : Value<"weights", readers, "FILE",
                     "A safetensors file, or the index of a sharded one">;
defm checkpoint : Value<"checkpoint", readers, "SOURCE",
                        "Read the weights by the names of this source (default: the one that fits)">;
defm init : Value<"init", runners, "SEED",
                  "Without --weights: draw them by the initialisers (default: 0)">;

// The program.
def o : Separate<["-"], "o">, Visibility<[CompileVerb, PackVerb]>,
        MetaVarName<"FILE">, HelpText<"The file to write; - is standard output, for text">;
defm emit : Value<"emit", [CompileVerb], "KIND",
                  "exe, lib (FILE.so and FILE.h), obj, asm, llvm or mlir (default: exe)">;
defm stop_after : Value<"stop-after", [CompileVerb], "PHASE",
                        "With --emit=mlir: the last phase to run (default: target)">;
defm target : Value<"target", generators, "cpu", "The kind of machine (default: cpu)">;
defm march : Value<"march", generators, "LEVEL,...",
                   "ISA levels: native (default), x86-64-v3, x86-64-v4, znver4, ...; the program picks one at start">;
defm dtype : Value<"dtype", generators, "f32|bf16|f16",
                   "Type of the inputs of matrix products, as they are stored; sums are f32 (default: f32)">;
defm weights_mode : Value<"weights-mode", [CompileVerb], "embed|file",
                          "Weights in the program, or beside it in FILE.weights (default: embed)">;
def O : Joined<["-"], "O">, Visibility<lowerers>, MetaVarName<"LEVEL">,
        HelpText<"Code generation level, 0 to 3 (default: 2)">;
def strict : Flag<["--"], "strict">, Visibility<generators>,
             HelpText<"Leave out the passes that reassociate sums">;
defm without : Value<"without", generators, "PASS,...",
                     "Leave out optional passes, to measure or to bisect; repeatable">;
defm pass_plugin : Value<"pass-plugin", extensible, "LIB.so",
                         "Load passes, dialects and operators of descriptions from a library; repeatable">;
defm pass_pipeline : Value<"pass-pipeline", generators, "POINT(PASSES)",
                           "Run passes before or after a phase or a pass that --list-phases shows, such as 'before-fuse(my-pass)'; repeatable">;

// What else a compilation leaves behind.
def explain : Flag<["--"], "explain">, Visibility<[CompileVerb]>,
              HelpText<"Tell for every attention whether it was fused, and why">;
def explain_file : Joined<["--"], "explain=">, Visibility<[CompileVerb]>,
                   MetaVarName<"FILE">, HelpText<"The same, into a file">;
defm dump_ir : Value<"dump-ir", generators, "DIR",
                     "Write the program after every phase: DIR/02-normalize.mlir, ...; where a pass fails, what it began with: DIR/03-fuse-failed.mlir">;
defm time_trace : Value<"time-trace", generators, "FILE",
                        "Write where the time goes, for trace viewers">;
defm max_memory : Value<"max-memory", runners, "SIZE",
                        "End with status 71 rather than allocate more than this: 800MiB, 4GiB. Mapped files, the code of hova and its libraries (80 MiB) and the linker (20 MiB) are not counted">;

// Single verbs.
defm format : Value<"format", [CheckVerb, SummaryVerb, ExplainVerb, VerifyVerb, PackVerb], "text|json",
                    "How the result is written (default: text)">;
defm cases : Value<"cases", [VerifyVerb], "N",
                   "Inputs to compare on: one random, one of edge values, one of zeros, then random ones (default: 3)">;
defm case : Value<"case", [VerifyVerb], "N",
                  "Compare on this input alone, counted from 0">;
def guard : Flag<["--"], "guard">, Visibility<[VerifyVerb]>,
            HelpText<"Run the generated code between guard pages too: an access out of bounds is an error">;
defm seed : Value<"seed", [VerifyVerb], "S",
                  "Draw the inputs from this seed (default: 0)">;
defm input : Value<"input", [EvaluateVerb], "NAME=FILE.npy",
                   "A tensor for an input; NAME= may be left out where there is one">;
defm output_dir : Value<"output-dir", [EvaluateVerb], "DIR",
                        "Where the results are written, as NAME.npy">;
