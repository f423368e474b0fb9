# Language, warnings and sanitizers: one place, the same for every target.
set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
endif()

set(PATERNOSTER_SANITIZE "" CACHE STRING "address;undefined | thread | (empty)")
option(PATERNOSTER_FUZZ "build *_fuzz.cc with libFuzzer (needs clang)" OFF)
set(PATERNOSTER_FUZZ_SECONDS 10 CACHE STRING "how long ctest runs each fuzz target")
option(PATERNOSTER_COVERAGE "instrument for gcov" OFF)
option(PATERNOSTER_TESTS "build tests" ON)
option(PATERNOSTER_BENCHES "define the *_bench.cc programs" ON)
option(PATERNOSTER_PROOFS "build the proofs of layering (only needed once, in dev)" ON)

add_library(house INTERFACE)
# -ffp-contract=off: a multiply and an add are fused only where the source says fma, so that every
# compiler and instruction set rounds alike (the invariance promise).
target_compile_options(house INTERFACE -Wall -Wextra -Wno-missing-field-initializers -Wshadow -Wnon-virtual-dtor
                       -Wconversion -Wno-sign-conversion -ffp-contract=off)
target_include_directories(house INTERFACE ${CMAKE_SOURCE_DIR}/src)
if(PATERNOSTER_SANITIZE)
  list(JOIN PATERNOSTER_SANITIZE "," sanitizers)
  target_compile_options(house INTERFACE -fsanitize=${sanitizers} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(house INTERFACE -fsanitize=${sanitizers})
endif()
if(PATERNOSTER_FUZZ)
  # libstdc++ 12 offers std::expected only to compilers that claim all of C++20 concepts.
  target_compile_options(house INTERFACE -Wno-macro-redefined -D__cpp_concepts=202002L)
  target_compile_options(house INTERFACE -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
  target_link_options(house INTERFACE -fsanitize=address,undefined)
endif()
if(PATERNOSTER_COVERAGE)
  target_compile_options(house INTERFACE --coverage)
  target_link_options(house INTERFACE --coverage)
endif()
