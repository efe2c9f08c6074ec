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
def ProfileVerb : OptionVisibility;
def SchemaVerb : OptionVisibility;
def CompletionVerb : OptionVisibility;
def ViewVerb : OptionVisibility;
def ImportVerb : OptionVisibility;

// Verbs that read a description, compute with its weights, lower it, and
// generate code.
defvar readers = [CompileVerb, PackVerb, CheckVerb, SummaryVerb, ExplainVerb,
                  VerifyVerb, EvaluateVerb, ViewVerb];
defvar runners = [CompileVerb, PackVerb, VerifyVerb, EvaluateVerb];
defvar generators = [CompileVerb, PackVerb, ExplainVerb, VerifyVerb, ViewVerb];
defvar lowerers = [CompileVerb, VerifyVerb, ViewVerb];
defvar importers = !listconcat(readers, [ImportVerb]);
defvar extensible = !listconcat(readers, [SchemaVerb]);
defvar everyone = [GlobalVerb, CompileVerb, PackVerb, CheckVerb, SummaryVerb,
                   ExplainVerb, VerifyVerb, EvaluateVerb, ProfileVerb,
                   SchemaVerb, CompletionVerb, ViewVerb, ImportVerb];

multiclass Value<string name, list<OptionVisibility> verbs, string value,
                 string help, list<string> words = []> {
  def NAME : Joined<["--"], name # "=">, Visibility<verbs>,
             MetaVarName<value>, HelpText<help>,
             Values<!interleave(words, ",")>;
  def NAME#_word : Separate<["--"], name>, Visibility<verbs>,
                   Alias<!cast<Option>(NAME)>;
}

// One of these words, the first unless the option is given. They are what
// `hova` accepts, shows and completes.
multiclass Choice<string name, list<OptionVisibility> verbs, list<string> words,
                  string help> : Value<name, verbs, !interleave(words, "|"),
                                       help, words>;

def help : Flag<["--"], "help">, Visibility<everyone>,
           HelpText<"Show this text.">;
def help_short : Flag<["-"], "h">, Visibility<everyone>, Alias<help>;
def version : Flag<["--"], "version">, Visibility<[GlobalVerb]>,
              HelpText<"Show the versions of hova and LLVM, and the targets.">;
def list_phases : Flag<["--"], "list-phases">, Visibility<[GlobalVerb]>,
                  HelpText<"Show the phases of a compilation, and what each promises of the IR after it.">;

def quiet : Flag<["--"], "quiet">, Visibility<importers>,
            HelpText<"Print errors and warnings only, and no notes.">;
def quiet_short : Flag<["-"], "q">, Visibility<importers>, Alias<quiet>;

// The description.
defm set : Value<"set", importers, "NAME=VALUE",
                 "Override a parameter of the description. May be repeated, once for each parameter.">;
defm diagnostics : Choice<"diagnostics", importers, ["text", "json"],
                         "Write messages as text or as JSON (default: text).">;
def werror : Flag<["--"], "werror">, Visibility<readers>,
             HelpText<"Treat warnings about the description as errors.">;
defm color : Choice<"color", importers, ["auto", "always", "never"],
                   "Write messages in colour. With auto, do so on a terminal (default: auto).">;

defm progress : Choice<"progress", [CompileVerb, PackVerb], ["auto", "json", "none"],
                      "Show the phase. With json, write an object on a line for each that begins; with auto, show one line on a terminal (default: auto).">;

// The folder of a model.
defm task : Value<"task", importers, "TASK",
                  "Compute this of the folder of a model: hidden states, the embedding of a text (embed), the scores of its classes (classify), of those of every token (tokens), or of the next tokens (logits). Without the option it is what the saved class computes.",
                  ["hidden", "embed", "classify", "tokens", "logits"]>;
defm models : Value<"models", importers, "DIR",
                    "Look for the description of a folder in this one, and then among those that come with hova. May be repeated.">;
defm ignore_config : Value<"ignore-config", importers, "KEY",
                           "Leave out this key of config.json, of which nothing is known: it changes no number. May be repeated.">;

// The weights.
defm weights : Value<"weights", readers, "FILE",
                     "Read the weights from a safetensors file, or from the index of a sharded one.">;
defm checkpoint : Value<"checkpoint", readers, "SOURCE",
                        "Read the weights by the names that this checkpoint source of the description gives them (default: the source that fits the file).">;
defm init : Value<"init", !listconcat(runners, [ViewVerb]), "SEED",
                  "Draw random weights from this seed, as the initialisers of the description say. Applies without --weights (default: 0, but hova verify without it draws the weights from --seed).">;

// The program.
def o : Separate<["-"], "o">, Visibility<[CompileVerb, PackVerb, ViewVerb, ImportVerb]>,
        MetaVarName<"FILE">, HelpText<"Write this file. A text may go to standard output, which is -. Without the option, hova compile, hova import and hova view write a text there, and hova compile a program or library into the current folder, called as the description.">;
defm emit : Value<"emit", [CompileVerb], "KIND",
                  "Choose what to write: exe is an executable, lib a shared library (FILE.so) with a header (FILE.h), obj an object file, asm assembly, llvm LLVM IR, and mlir MLIR (default: exe). For --target=cuda, ptx is the same as asm, and cubin machine code.",
                  ["exe", "lib", "obj", "asm", "llvm", "ptx", "cubin", "mlir"]>;
def package : Flag<["--"], "package">, Visibility<[CompileVerb]>,
              HelpText<"Write NAME.pc and NAMEConfig.cmake beside a library NAME.so or libNAME.so, by which pkg-config and CMake's find_package find it. Applies to --emit=lib.">;
defm reproduce : Value<"reproduce", [CompileVerb], "PROGRAM",
                       "Make this program again, from the description and the options that it carries: the same bytes, or status 3. Weights, plugins and an IR dump that it was made from are given again, and their hashes compared.">;
defm stop_after : Value<"stop-after", [CompileVerb], "PHASE",
                        "Run no phase after this one. Applies to --emit=mlir (default: target).">;
defm target : Value<"target", generators, "TARGET",
                    "Generate code for cpu, a processor, for cuda, a GPU, or for cuda-emulated, a GPU that the processor emulates with all checks (default: cpu). With cpu,cuda one executable or library has code for both: it runs on a GPU where there is one, and on the processor elsewhere.",
                    ["cpu", "cuda", "cuda-emulated"]>;
defm gpu_arch : Value<"gpu-arch", generators, "LEVEL[,LEVEL]...",
                      "Generate code for these levels of GPUs, of which the program picks the best when it starts: sm_80, sm_86, sm_89, sm_90a or sm_120. Without it a program runs on every GPU from compute capability 8.0 on, and what is of one level is for sm_80. An emulation takes one. Applies to --target=cuda and cuda-emulated.",
                      ["sm_80", "sm_86", "sm_89", "sm_90a", "sm_120"]>;
defm ptxas : Value<"ptxas", [CompileVerb, ExplainVerb, VerifyVerb, ViewVerb], "PATH|none",
                   "Assemble kernels for a GPU by this ptxas, or by none: a program holds the machine code beside its PTX. Without the option the first ptxas in PATH, CUDA_HOME/bin, CUDA_PATH/bin and /usr/local/cuda/bin is taken, and one that fails is a warning. Applies to --target=cuda.">;
defm mma_sums : Choice<"mma-sums", [VerifyVerb], ["in-order", "a100", "h100"],
                      "Add in matrix products of an emulated GPU as these devices were measured to, or in the order of the inner dimension. Applies to --target=cuda-emulated (default: in-order).">;
defm approximations : Choice<"approximations", [VerifyVerb], ["nearest", "above", "below", "either"],
                            "Compute the largest (above) or smallest (below) number that PTX allows, or one of both by the bits of the argument (either), where an instruction of an emulated GPU approximates. Applies to --target=cuda-emulated (default: nearest).">;
defm march : Value<"march", generators, "LEVEL,...",
                   "Generate code for these ISA levels, such as native, x86-64-v3, x86-64-v4 or znver4. The program picks one of them when it starts (default: native).">;
defm dtype : Choice<"dtype", generators, ["f32", "bf16", "f16"],
                   "Store the inputs of matrix products in this type. Accumulation is in f32 (default: f32).">;
defm tensors : Choice<"tensors", generators, ["f32", "bf16", "f16"],
                     "Take numbers as inputs, and give them as outputs, in this type, where the description says none (default: f32).">;
defm weights_mode : Choice<"weights-mode", [CompileVerb], ["embed", "file"],
                          "Put the weights into the program (embed), or beside it into FILE.weights (file) (default: embed).">;
def O : Joined<["-"], "O">, Visibility<lowerers>, MetaVarName<"LEVEL">,
        Values<"0,1,2,3">,
        HelpText<"Set the optimisation level of LLVM's code generator, 0 to 3 (default: 2).">;
def strict : Flag<["--"], "strict">, Visibility<generators>,
             HelpText<"Leave out the passes that reassociate, that is, add or multiply in another order than the description.">;
defm without : Value<"without", generators, "PASS,...",
                     "Leave out these optional passes, in order to measure or to bisect. May be repeated.">;
defm pass_plugin : Value<"pass-plugin", extensible, "LIB.so",
                         "Load passes, dialects and operators of descriptions from this library. May be repeated.">;
defm pass_pipeline : Value<"pass-pipeline", generators, "POINT(PASSES)",
                           "Run passes before or after a phase or a pass that --list-phases shows, as in 'before-fuse(my-pass)'. May be repeated.">;

// What else a compilation leaves behind.
def explain : Flag<["--"], "explain">, Visibility<[CompileVerb]>,
              HelpText<"Say of every attention whether it was fused, and why, and of every kernel for a GPU what it takes of that.">;
def explain_file : Joined<["--"], "explain=">, Visibility<[CompileVerb]>,
                   MetaVarName<"FILE">, HelpText<"Write into this file what --explain says.">;
defm dump_ir : Value<"dump-ir", generators, "DIR",
                     "Write the IR after every phase, as DIR/02-normalize.mlir and so on. Where a pass fails, write the IR that it began with, as DIR/03-fuse-failed.mlir.">;
defm debug_lines : Value<"debug-lines", [CompileVerb], "FILE",
                         "Write a text with a line for each stage and path that code is generated for, and let the program's debug information point into it, for perf annotate and debuggers. The code stays the same.">;
defm time_trace : Value<"time-trace", generators, "FILE",
                        "Write how long each step of the compilation takes, in the format of trace viewers.">;
defm max_memory : Value<"max-memory", runners, "SIZE",
                        "End with status 71 instead of allocating more than this, for example 800MiB or 4GiB. Mapped files, the code of hova and its libraries (80 MiB) and the linker (20 MiB) are not counted.">;

// Single verbs.
defm format : Choice<"format", [CheckVerb, SummaryVerb, ExplainVerb, VerifyVerb, PackVerb, ProfileVerb, ViewVerb], ["text", "json"],
                    "Write the result as text or as JSON (default: text). The text of hova view is a page, in HTML, and its JSON what is in that page.">;
defm benchmark_file : Value<"benchmark-file", [ViewVerb], "FILE",
                            "Show the times in this file, which the program has written with --benchmark-out.">;
defm peak : Value<"peak", [ViewVerb], "GFLOPS[,GBS]",
                  "Show times as percent of this peak, in GFLOP/s, and draw the roofline of a memory of so many GB/s. Applies with --benchmark-file (default: the fastest kernel is 100 percent).">;
defm path : Value<"path", [ExplainVerb], "PATH",
                  "Tell only of the layers at this path or below it, such as encoder.3, and of the kernels that compute them.">;
defm diff : Value<"diff", [ExplainVerb], "OTHER",
                  "Tell what differs from another compilation: which sites changed kernels, and why. OTHER is a description, options to add as in --diff=--strict, both as in --diff='other.json --strict', or what hova explain --format=json has written.">;
defm depth : Value<"depth", [ProfileVerb], "N",
                   "Show places of the description down to paths of this many parts, so encoder.3 for 2 (default: 2).">;
def paper : Flag<["--"], "paper">, Visibility<[SummaryVerb]>,
            HelpText<"Show the figures that papers print of the model beside ours, counted as the papers count. Without --set, show those of every variant.">;
defm cases : Value<"cases", [VerifyVerb], "N",
                   "Compare on this many inputs. The first is random, the second holds edge values, the third zeros, the fourth a huge number in each row, and all others are random (default: 3).">;
defm case : Value<"case", [VerifyVerb], "N",
                  "Compare on this input only. Inputs are counted from 0.">;
def guard : Flag<["--"], "guard">, Visibility<[VerifyVerb]>,
            HelpText<"Run the generated code once more between guard pages. An access out of bounds is then an error.">;
defm seed : Value<"seed", [VerifyVerb], "S",
                  "Draw the inputs from this seed, and the weights where neither --weights nor --init says what they are (default: 0).">;
defm input : Value<"input", [EvaluateVerb, ViewVerb], "NAME=FILE.npy",
                   "Read the tensor of an input from this file. NAME= may be left out where the model has one input. With it hova view shows what attention attends to.">;
defm output_dir : Value<"output-dir", [EvaluateVerb], "DIR",
                        "Write the results into this directory, as NAME.npy.">;
