# Flags of the files that hold one instruction set's kernels, and of no other file: the rest of the
# program must run on any x86-64. They are hot loops, optimised in every build (their loops are unrolled by hand, so -O2 is enough).
set(avx2_flags -mavx2 -mfma -mf16c)
set(kernel_flags -O2 -fno-math-errno -fno-trapping-math)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Both passes would put off additions until dozens of products wait for them in memory.
  list(APPEND kernel_flags -fno-tree-ter -fno-tree-reassoc)
endif()
if(PATERNOSTER_INSTRUMENTED)
  # Bounds and races are looked for here too; other checks, in every lane of every step, would take the compiler minutes.
  list(APPEND kernel_flags -O1 -fno-sanitize=undefined,fuzzer-no-link)
endif()
set(isa_flags_scalar)
set(isa_flags_avx2 ${avx2_flags})
set(isa_flags_avxvnni ${avx2_flags} -mavxvnni)
# g++ 12 takes the deliberately undefined registers inside its own AVX-512 header for a mistake.
set(isa_flags_avx512 ${avx2_flags} -Wno-uninitialized -Wno-maybe-uninitialized -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vnni)
foreach(isa scalar avx2 avxvnni avx512)
  if(isa STREQUAL "scalar" OR CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    set_source_files_properties(${dir}/isa_${isa}.cc PROPERTIES
                                COMPILE_OPTIONS "${kernel_flags};${isa_flags_${isa}}")
  else()
    set_source_files_properties(${dir}/isa_${isa}.cc PROPERTIES HEADER_FILE_ONLY ON)
  endif()
endforeach()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set_source_files_properties(${dir}/emulated_tables_test.cc PROPERTIES
                              COMPILE_OPTIONS "${kernel_flags};${isa_flags_avx2}")
endif()

if(PATERNOSTER_TESTS AND NOT PATERNOSTER_INSTRUMENTED AND NOT PATERNOSTER_COVERAGE)
  add_test(NAME proof.isa_symbols.kernels
           COMMAND ${CMAKE_COMMAND} -DNM=${CMAKE_NM} "-DOBJECTS=$<JOIN:$<TARGET_OBJECTS:kernels>,|>"
                   -P ${dir}/isa_symbols.cmake)
endif()
