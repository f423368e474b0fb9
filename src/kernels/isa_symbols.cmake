# cmake -DNM=nm -DOBJECTS="a.o|b.o" -P isa_symbols.cmake: fails when a file built for one instruction
# set defines anything but its table. A weak symbol there (an inline function, a template) could be
# taken by the linker for the whole program, and would crash on a machine without the instructions.
string(REPLACE "|" ";" objects "${OBJECTS}")
set(seen 0)
foreach(object ${objects})
  if(NOT object MATCHES "isa_(scalar|avx2|avxvnni|avx512)\\.cc")
    continue()
  endif()
  math(EXPR seen "${seen} + 1")
  execute_process(COMMAND ${NM} -C --defined-only --extern-only ${object}
                  OUTPUT_VARIABLE symbols RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "nm could not read ${object}")
  endif()
  string(STRIP "${symbols}" symbols)
  if(NOT symbols MATCHES "^[0-9a-f]+ [RDB] paternoster::kernels::k[A-Za-z0-9]+Table$")
    message(FATAL_ERROR "${object} defines more than its table:\n${symbols}")
  endif()
endforeach()
if(seen EQUAL 0)
  message(FATAL_ERROR "no object of an instruction set among ${OBJECTS}")
endif()
