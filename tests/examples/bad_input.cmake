# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What train_gpt, generate and pipeline_view do with input that they can't use: exit status 2 (usage) or 1 (failure),
# one line on stderr that says what to do, and a folder that is as it was. Ctrl-C saves and ends with 130. A run that
# goes well leaves all that it promises.
#
# Settings, given before -P: -DTRAIN_GPT=<program>, -DGENERATE=<program>,
#   -DPIPELINE_VIEW=<program>, -DWORK=<folder to make and use>.
cmake_minimum_required(VERSION 3.25)

set(failures 0)

# state_of(<folder> <out>): the names below it and a hash of each file.
function(state_of folder out)
  set(state "")
  file(GLOB_RECURSE entries LIST_DIRECTORIES true RELATIVE ${folder} ${folder}/*)
  foreach(entry IN LISTS entries)
    if(NOT IS_DIRECTORY ${folder}/${entry} AND NOT IS_SYMLINK ${folder}/${entry})
      file(SHA256 ${folder}/${entry} hash)
      string(APPEND entry "=${hash}")
    endif()
    list(APPEND state ${entry})
  endforeach()
  set(${out} "${state}" PARENT_SCOPE)
endfunction()

# complain(<text>): one more failure, with what the last command printed.
macro(complain text)
  math(EXPR failures "${failures} + 1")
  set(failures ${failures} PARENT_SCOPE)
  string(JOIN " " shown ${ARGN})
  message("FAILED: ${text}\n  command: ${shown}\n  status: ${status}\n  stderr: ${errors}")
endmacro()

# start(<word>...): runs it in WORK and leaves `status`, `output` and `errors`.
macro(start)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${WORK} TIMEOUT 100 RESULT_VARIABLE status
                  OUTPUT_VARIABLE output ERROR_VARIABLE errors)
endmacro()

# message_of(<out>): stderr without the progress of steps that went well.
macro(message_of out)
  string(REGEX REPLACE "(^|\n)step=[^\n]*" "" ${out} "${errors}")
  string(STRIP "${${out}}" ${out})
endmacro()

# refused(<status> <regular expression> <word>...): the command ends so, with one line that matches, and leaves WORK
# as it was.
function(refused wanted pattern)
  state_of(${WORK} before)
  start(${ARGN})
  state_of(${WORK} after)
  message_of(line)
  if(NOT status STREQUAL wanted)
    complain("ends with status ${wanted}" ${ARGN})
  elseif(line MATCHES "\n" OR NOT line MATCHES "^[a-z_]+: .*${pattern}")
    complain("prints one line like \"${pattern}\"" ${ARGN})
  elseif(NOT before STREQUAL after)
    complain("leaves the folder as it was" ${ARGN})
  endif()
endfunction()

# silent(<word>...): prints nothing on stdout.
function(silent)
  start(${ARGN})
  if(NOT output STREQUAL "")
    complain("prints nothing on stdout" ${ARGN})
  endif()
endfunction()

# accepted(<word>...): ends with status 0.
function(accepted)
  start(${ARGN})
  if(NOT status STREQUAL "0")
    complain("ends with status 0" ${ARGN})
  endif()
endfunction()

# told(<regular expression> <word>...): ends with status 0 and says so.
function(told pattern)
  start(${ARGN})
  if(NOT status STREQUAL "0" OR NOT output MATCHES "${pattern}" OR errors MATCHES "held_out=")
    complain("ends with status 0 and prints \"${pattern}\"" ${ARGN})
  endif()
endfunction()

# full_disk(<folder> <word>...): the program hits a limit while it saves: one line, and the saves are as they were.
function(full_disk folder)
  state_of(${WORK}/${folder} before)
  start(sh -c "ulimit -f 64 && exec \"$@\"" sh ${ARGN})
  state_of(${WORK}/${folder} after)
  message_of(line)
  if(NOT status STREQUAL "1")
    complain("ends with status 1" ${ARGN})
  elseif(NOT line MATCHES "^train_gpt: [^\n]*File too large: free some space or choose another folder$")
    complain("prints one line that says to free some space" ${ARGN})
  elseif(NOT before STREQUAL after)
    complain("leaves the saves as they were" ${ARGN})
  endif()
endfunction()

# unlistable(<folder> <word>...): the command names the folder, unless this user may list it all the same.
function(unlistable folder)
  start(ls ${folder})
  if(status STREQUAL "0")
    return()
  endif()
  start(${ARGN})
  if(NOT status STREQUAL "1" OR NOT errors MATCHES "^[^\n]*can't list all of ${folder}: [^\n]*: change [^\n]*\n$")
    complain("names the folder that can't be listed" ${ARGN})
  endif()
endfunction()

# interrupted(<times> <word>...): sends so many interrupts once training has begun.
function(interrupted times)
  # No semicolons: CMake would take the script for a list.
  start(sh -c "
    times=$1
    log=$2
    shift 2
    \"$@\" &
    program=$!
    tries=0
    until [ -e $log ] || [ $tries -ge 300 ]
    do sleep 0.1 && tries=$((tries + 1))
    done
    while [ $times -gt 0 ]
    do kill -INT $program && sleep 0.3
    times=$((times - 1))
    done
    wait $program" sh ${times} interrupted${times}/metrics.jsonl ${ARGN} --out interrupted${times})
  if(NOT status STREQUAL "130")
    complain("ends with status 130" ${ARGN})
  elseif(times EQUAL 1)
    if(NOT errors MATCHES "\ntrain_gpt: interrupted: stopped after step ([0-9]+) and saved. go on with --resume ")
      complain("says after which step it stopped and saved" ${ARGN})
    endif()
    math(EXPR next "${CMAKE_MATCH_1} + 1")
    accepted(${tiny} --steps ${next} --resume interrupted1 --out interrupted1)
  elseif(errors MATCHES "stopped" OR EXISTS ${WORK}/interrupted${times}/checkpoint)
    complain("ends at once" ${ARGN})
  endif()
  set(failures ${failures} PARENT_SCOPE)
endfunction()

# killed_run(): a run was killed after its last save: it goes on with its records, and makes those behind it again.
function(killed_run)
  accepted(${two} --out killed)
  file(APPEND ${WORK}/killed/metrics.jsonl "{\"step\":3,\"loss\":99}\n{\"step\":4,\"lo")
  set(command ${four} --out killed --resume killed --seed 2)
  start(${command})
  file(STRINGS ${WORK}/killed/metrics.jsonl lines)
  set(steps "")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^{\"step\":([0-9]+),.*" "\\1" step "${line}")
    list(APPEND steps ${step})
  endforeach()
  file(READ ${WORK}/killed/loss.svg picture)
  if(NOT steps STREQUAL "1;2;3;4" OR NOT picture MATCHES "<polyline[^>]* points=\"[^ \"]+ [^ \"]+ [^ \"]+ [^ \"]+\"")
    complain("has the records of steps 1 to 4, not ${steps}, and draws them" ${command})
  elseif(NOT output MATCHES "train_gpt: goes on with --seed 2 .saved with 1.\n")
    complain("says that the seed differs" ${command})
  endif()
  accepted(${two} --out killed --overwrite)
  set(failures ${failures} PARENT_SCOPE)
endfunction()

# run_reports(): what the progress line and metrics.jsonl name.
function(run_reports)
  set(command ${TRAIN_GPT} --random-tokens --preset tiny --seq 32 --batch 4 --steps 4 --threads-per-rank 1 --sample 0
      --pp 2 --eval-every 2 --out metrics)
  start(${command})
  foreach(name "step" "loss" "held_out" "tokens/s" "bubble")
    if(NOT errors MATCHES "${name}=")
      complain("shows ${name} on the progress line" ${command})
    endif()
  endforeach()
  file(READ ${WORK}/metrics/metrics.jsonl lines)
  if(NOT lines MATCHES "\"bubble_percent\":[0-9]")
    complain("records the bubble" ${command})
  endif()
  set(failures ${failures} PARENT_SCOPE)
endfunction()

# whole_run(<arch>): a run leaves all its artefacts, and what it saved can be read again.
function(whole_run arch)
  set(command ${TRAIN_GPT} --data text.txt --preset tiny --arch ${arch} --seq 32 --batch 4 --steps 2
      --threads-per-rank 1 --sample 20 --out whole-${arch})
  start(${command})
  foreach(artefact metrics.jsonl loss.svg pipeline.svg trace.json sample.txt checkpoint/latest)
    if(NOT EXISTS ${WORK}/whole-${arch}/${artefact})
      complain("leaves ${artefact}" ${command})
    endif()
  endforeach()
  if(NOT status EQUAL 0 OR NOT output MATCHES "a sample after step 2:\n")
    complain("ends well and shows a sample" ${command})
  endif()
  start(${GENERATE} --checkpoint whole-${arch} --prompt the --tokens 5)
  if(NOT status EQUAL 0 OR NOT output MATCHES "^the")
    complain("goes on from a prompt" ${GENERATE})
  endif()
  set(failures ${failures} PARENT_SCOPE)
endfunction()

# --- the cases ---

file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK}/hollow ${WORK}/damaged)
string(REPEAT "the shuttle passes through the raised warp and leaves a thread, " 400 text)
file(WRITE ${WORK}/text.txt "${text}")
file(WRITE ${WORK}/empty.txt "")
file(WRITE ${WORK}/short.txt "a few bytes")
file(WRITE ${WORK}/not.safetensors "this is no header")
set(quiet --eval-every 0 --sample 0)
set(tiny ${TRAIN_GPT} --data text.txt --preset tiny --seq 32 --batch 4 --threads-per-rank 1 ${quiet})
set(two ${tiny} --steps 2)
set(four ${tiny} --steps 4)
accepted(${two} --out run)

# A folder that holds another run.
refused(2 "run holds a run saved at step 2: add --resume run to go on, choose another --out, or give --overwrite"
        ${four} --out run)

# Usage.
refused(2 "--no-such is no flag.*see --help" ${two} --out new --no-such)
refused(2 "--stepz is no flag. did you mean --steps" ${tiny} --out new --stepz 2)
refused(2 "'text.txt' is no flag: flags start with --" ${TRAIN_GPT} text.txt)
refused(2 "--steps is given twice: give it once" ${two} --out new --steps 3)
refused(2 "--ranks 3 is not dp x pp = 2: give --ranks 2 or leave it out" ${two} --out new --pp 2 --ranks 3)
refused(2 "--pp 3 needs as many layers, there are 2: give --layers or a smaller --pp" ${two} --out new --pp 3)
refused(2 "--dp 2 needs as many microbatches, there are 1: give" ${two} --out new --dp 2 --microbatches 1)
refused(2 "can't be cut into 4 equal microbatches: give a multiple"
        ${TRAIN_GPT} --data text.txt --preset tiny --steps 2 --batch 6 --out new)
refused(2 "--heads 3 does not divide --width 64: give" ${two} --out new --heads 3)
refused(2 "--key-heads 3 does not divide --heads 4: give" ${two} --out new --arch llama --heads 4 --key-heads 3)
refused(2 "--rope-base is for --arch llama: leave it out" ${two} --out new --rope-base 5)
refused(2 "--key-heads is for --arch llama: leave it out" ${two} --out new --key-heads 1)
refused(2 "--width / --heads = 3 is odd: give --width" ${two} --out new --arch llama --width 6 --heads 2 --key-heads 1)
refused(2 "--warmup 5 is longer than --steps 2: give a shorter one" ${two} --out new --warmup 5)

# Numbers and texts that are none.
foreach(bad "--steps=0" "--steps=-1" "--steps=1e3" "--steps=99999999999999999999" "--steps=" "--steps=nan" "--lr=nan"
            "--lr=inf" "--lr=-1" "--lr=1e999" "--valid-fraction=2" "--seed=-1" "--dp=0" "--zero=2" "--clip="
            "--width=64x" "--arch=" "--arch=gpt9" "--out=" "--data=" "--precision=fp8")
  string(REGEX MATCH "^[^=]+" flag ${bad})
  refused(2 "${flag}.*(give|not a|not one|leave it out)" ${TRAIN_GPT} --data text.txt ${bad})
endforeach()
refused(2 "--steps needs a value: give --steps N" ${tiny} --out new --steps)

# Files.
refused(1 "there is no missing.txt: check the path of --data" ${TRAIN_GPT} --data missing.txt --out new)
refused(1 "holds 0 bytes.*give more text or a smaller --seq" ${TRAIN_GPT} --data empty.txt --out new)
refused(1 "holds 11 bytes.*give more text or a smaller --seq" ${TRAIN_GPT} --data short.txt --out new)
refused(1 "holds 0 bytes.*give more text or a smaller --seq" ${TRAIN_GPT} --data hollow --out new)
refused(1 "can't make the folder text.txt/new: choose another --out" ${two} --out text.txt/new)

# Checkpoints.
foreach(place missing hollow text.txt)
  refused(1 "there is no checkpoint in ${place}: give --resume" ${four} --out new/deep --resume ${place})
endforeach()
set(unsized ${TRAIN_GPT} --data text.txt --preset tiny --steps 4 --out new --resume run)
foreach(other "--width=32" "--heads=4" "--layers=3" "--hidden=32" "--arch=llama" "--no-tied")
  refused(2 "another model: give --arch gpt2 --tied --layers 2 --width 64 --heads 2 --key-heads 2 --hidden 256 --seq 32"
          ${unsized} --seq 32 ${other})
endforeach()
refused(2 "is of another model: give .*--seq 32" ${unsized} --seq 16)
set(rotary --arch llama --rope-base 500000)
accepted(${two} --out rotary ${rotary})
refused(2 "another model: give --arch llama .* --rope-base 5e.05$" ${four} --out new --resume rotary --arch llama)
refused(2 "another model: give .* --rope-base 5e.05$" ${four} --out new --resume rotary --arch llama --rope-base 5000)
accepted(${four} --out rotary --resume rotary ${rotary})
refused(2 "the checkpoint is at step 2: give --steps above 2" ${two} --out run --resume run)
file(COPY ${WORK}/run/checkpoint DESTINATION ${WORK}/damaged)
file(GLOB_RECURSE parts ${WORK}/damaged/*.safetensors)
file(WRITE ${parts} "cut off")
refused(1 "no usable checkpoint in damaged/checkpoint, take another copy.*has 7 bytes, the manifest says"
        ${four} --out new --resume damaged)

# A full disk: a file that may not grow, and an output that takes nothing.
full_disk(run/checkpoint ${four} --out run --resume run)
full_disk(run/checkpoint ${four} --out run --resume run --dp 2 --zero 1)
full_disk(fresh/checkpoint ${two} --out fresh)
accepted(${four} --out run --resume run)
if(EXISTS /dev/full)
  refused(1 "can't write to the standard output: free some space" sh -c "exec \"$@\" >/dev/full" sh ${two})
  refused(1 "can't write to the standard output" sh -c "exec \"$@\" >/dev/full" sh ${GENERATE} --checkpoint run)
endif()
foreach(program TRAIN_GPT GENERATE)  # closed, where the next file that is opened would take its place
  set(words ${two})
  if(program STREQUAL "GENERATE")
    set(words ${GENERATE} --checkpoint run)
  endif()
  refused(1 "can't write to the standard output" sh -c "exec \"$@\" >&-" sh ${words})
endforeach()
set(huge ${TRAIN_GPT} --random-tokens --preset tiny --steps 1 --threads-per-rank 1)
refused(1 "out.of.memory: one rank of this run takes [0-9]+ bytes and this machine has [0-9]+: choose a smaller batch"
        ${huge} --batch 1048576 --seq 65536 --microbatches 1)
refused(2 "--dp 1000 x --pp 1000 makes 1000000 ranks, and a process has at most [0-9]+: give a smaller"
        ${huge} --dp 1000 --pp 1000 --layers 1000 --microbatches 1000)

# generate.
refused(2 "--checkpoint is missing: give --checkpoint PATH" ${GENERATE})
refused(2 "--prompt.*empty.*give" ${GENERATE} --checkpoint run --prompt=)
refused(2 "--vocab and --merges go together: give both" ${GENERATE} --checkpoint run --vocab text.txt)
foreach(bad "--tokens=-1" "--temperature=-1" "--temperature=nan" "--top-p=2" "--seed=x" "--threads=1e9")
  string(REGEX MATCH "^[^=]+" flag ${bad})
  refused(2 "${flag}.*(give|not a)" ${GENERATE} --checkpoint run ${bad})
endforeach()
refused(1 "no usable checkpoint in missing: check the path" ${GENERATE} --checkpoint missing)
refused(1 "no usable checkpoint in hollow: check the path" ${GENERATE} --checkpoint hollow)
refused(1 "no usable checkpoint in damaged/checkpoint, take another copy" ${GENERATE} --checkpoint damaged)
refused(1 "not.safetensors" ${GENERATE} --checkpoint not.safetensors)
silent(${GENERATE} --checkpoint not.safetensors)
refused(1 "can't read a checkpoint from text.txt: give a folder of saves or a file whose name ends in .safetensors"
        ${GENERATE} --checkpoint text.txt)

# Where the default text is not.
refused(1 "heddle's own text, which is not in this folder: start in heddle's folder, or give --data PATH"
        ${TRAIN_GPT} --preset tiny --out new)
refused(1 "in folders only files that end in .hpp .cpp .* count" ${TRAIN_GPT} --data hollow --out new)

# A link in a circle is no file, and a folder that can't be listed is named. Who may read everything can't see that.
file(MAKE_DIRECTORY ${WORK}/circle ${WORK}/locked)
file(WRITE ${WORK}/circle/text.txt "${text}")
file(CREATE_LINK around.txt ${WORK}/circle/around.txt SYMBOLIC)
accepted(${TRAIN_GPT} --data circle --preset tiny --seq 32 --batch 4 --threads-per-rank 1 ${quiet} --steps 1
         --out round)
refused(1 "can't read circle/around.txt: Too many levels of symbolic links: check the path of --data"
        ${TRAIN_GPT} --data circle/around.txt --out new)
file(CHMOD ${WORK}/locked PERMISSIONS OWNER_WRITE)
unlistable(locked ${TRAIN_GPT} --data locked --out new)
file(CHMOD ${WORK}/locked PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)

# pipeline_view.
refused(1 "can't open missing.txt: No such file or directory: check the path" ${PIPELINE_VIEW} --read missing.txt)
refused(1 "can't open hollow: Is a directory: check the path" ${PIPELINE_VIEW} --read hollow)
refused(1 "line 1, column 1, 'the': a schedule begins with 'heddle-schedule'" ${PIPELINE_VIEW} --read text.txt)
refused(1 "the text is empty" ${PIPELINE_VIEW} --read empty.txt)
silent(${PIPELINE_VIEW} --read text.txt)
refused(2 "--stages.*give" ${PIPELINE_VIEW} --stages 0)
refused(1 "can't replace hollow: Is a directory: check the path" ${PIPELINE_VIEW} --svg hollow)

killed_run()

# What looks wrong and is not.
accepted(${two} --pp 2 --microbatches 1)
accepted(${tiny} --steps 6 --out moved --resume run --dp 2)

run_reports()
whole_run(gpt2)
whole_run(llama)

told("no held-out loss: 0 bytes are held out.*give more text" ${TRAIN_GPT} --data text.txt --preset tiny
     --seq 32 --batch 4 --threads-per-rank 1 --steps 2)

# Ctrl-C: once saves, twice ends at once, in the middle of a step that would take minutes.
interrupted(1 ${tiny} --steps 1000000)
interrupted(2 ${TRAIN_GPT} --data text.txt --preset tiny --steps 1 --seq 32 --microbatches 10000 --batch 1000000)

if(failures GREATER 0)
  message(FATAL_ERROR "${failures} cases failed")
endif()
message("every case ends as it should")
