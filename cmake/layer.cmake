# layer(NAME [PURE] [USES layer...] [LINKS library...]): one folder of src/ as one static library.
#
#   x.h x.cc        the library            x_test.cc    GoogleTest, one program a layer, found by suffix
#   x_fuzz.cc       libFuzzer target       x_bench.cc   Google Benchmark, one program a layer
#
# A folder's layer.cmake may set one_process_suites, a list of "title|filter": tests that share costly work
# and so are run by one process.
#
# Proofs come with each layer, all part of `make test`:
#   link     an empty main linked with the whole archive and only what the layer declares
#   header   every header compiles alone (CMAKE_VERIFY_INTERFACE_HEADER_SETS)
#   purity   PURE layers: undefined symbols stay on the allow list (cmake/purity.cmake)
#   include  scripts/check_layers.py: no #include of a layer or library that is not declared; the link
#            proof alone would miss a header-only upward include and a layer used but not named
# tests/proofs shows each of them failing on a layer that breaks its rule.
set(CMAKE_VERIFY_INTERFACE_HEADER_SETS ON)

function(layer NAME)
  cmake_parse_arguments(L "PURE" "" "USES;LINKS" ${ARGN})
  foreach(used ${L_USES})
    if(NOT TARGET ${used})
      message(FATAL_ERROR "layer ${NAME} uses ${used}, which is not below it")
    endif()
  endforeach()
  set_property(GLOBAL APPEND_STRING PROPERTY paternoster_layers "${NAME}|${L_USES}|${L_LINKS}\n")
  set(dir ${CMAKE_SOURCE_DIR}/src/${NAME})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${dir}/*.cc)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${dir}/*.h)
  set(tests ${sources})
  set(fuzzers ${sources})
  set(benches ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER fuzzers INCLUDE REGEX "_fuzz\\.cc$")
  list(FILTER benches INCLUDE REGEX "_bench\\.cc$")
  list(FILTER sources EXCLUDE REGEX "(_test|_fuzz|_bench)\\.cc$")

  if(NOT sources)
    file(WRITE ${CMAKE_BINARY_DIR}/empty/${NAME}.cc "")
    set(sources ${CMAKE_BINARY_DIR}/empty/${NAME}.cc)
  endif()
  add_library(${NAME} STATIC ${sources})
  if(headers)
    target_sources(${NAME} PUBLIC FILE_SET HEADERS BASE_DIRS ${CMAKE_SOURCE_DIR}/src FILES ${headers})
  endif()
  target_link_libraries(${NAME} PUBLIC house ${L_USES} ${L_LINKS})
  if(EXISTS ${dir}/layer.cmake)
    include(${dir}/layer.cmake)  # what one folder alone needs: flags an instruction set, embedded files
  endif()
  if(PATERNOSTER_TESTS)
    layer_tests(${NAME} "${tests}")
    if(PATERNOSTER_PROOFS)
      layer_proofs(${NAME} ${L_PURE})
    endif()
  endif()
  if(PATERNOSTER_BENCHES)
    layer_benches(${NAME} "${benches}")
  endif()
  if(PATERNOSTER_FUZZ)
    layer_fuzzers(${NAME} "${fuzzers}")
  endif()
endfunction()

function(layer_tests NAME tests)
  if(NOT tests)
    return()
  endif()
  add_executable(${NAME}_test ${tests})
  target_link_libraries(${NAME}_test PRIVATE ${NAME} GTest::gmock GTest::gtest_main ${RAPIDCHECK})
  foreach(source ${tests})  # only where it is used: a path in every command would defeat the compiler cache
    file(STRINGS ${source} uses_source_dir REGEX PATERNOSTER_SOURCE_DIR LIMIT_COUNT 1)
    if(uses_source_dir)
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_DEFINITIONS PATERNOSTER_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
    endif()
  endforeach()
  set(alone "")  # a filter of what is not run in the way of the others
  foreach(suite ${one_process_suites})
    string(REPLACE "|" ";" suite ${suite})
    list(GET suite 0 title)
    list(GET suite 1 filter)
    string(APPEND alone ":${filter}")
    layer_test_process(${NAME} ${title} "${filter}")
  endforeach()
  string(REGEX REPLACE "^:" "*-" alone "${alone}")
  if(NOT alone)
    set(alone "*")
  endif()
  if(PATERNOSTER_INSTRUMENTED)  # a process a test would mostly start up and load models
    layer_test_process(${NAME} all "${alone}")
    return()
  endif()
  include(GoogleTest)
  gtest_discover_tests(${NAME}_test TEST_PREFIX "${NAME}." TEST_FILTER "${alone}" DISCOVERY_TIMEOUT 60
                       PROPERTIES TIMEOUT 600 LABELS unit-${NAME})  # one label: the function would drop a second
endfunction()

# Many tests of a layer's program as one of ctest's.
function(layer_test_process NAME title filter)
  add_test(NAME ${NAME}.${title} COMMAND ${NAME}_test --gtest_brief=1 "--gtest_filter=${filter}")
  set_tests_properties(${NAME}.${title} PROPERTIES LABELS unit-${NAME} TIMEOUT 1800
                       SKIP_REGULAR_EXPRESSION "\\[  SKIPPED \\]"
                       FAIL_REGULAR_EXPRESSION " 0 tests from 0 test suites ran")  # a filter that matches nothing
endfunction()

function(layer_benches NAME benches)
  if(benches)
    add_executable(${NAME}_bench ${benches})
    target_link_libraries(${NAME}_bench PRIVATE ${NAME} benchmark::benchmark_main)
  endif()
endfunction()

if(PATERNOSTER_FUZZ)
  add_custom_target(fuzzers)
endif()

# One ctest a target: a short run that starts from the kept corpus and may only add to the build tree.
function(layer_fuzzers NAME fuzzers)
  foreach(source ${fuzzers})
    get_filename_component(stem ${source} NAME_WE)
    string(REGEX REPLACE "_fuzz$" "" target ${stem})
    add_executable(${stem} ${source})
    target_link_libraries(${stem} PRIVATE ${NAME} -fsanitize=fuzzer)
    fuzz_test(${stem} ${target})
    add_dependencies(fuzzers ${stem})
  endforeach()
endfunction()

# fuzz_test(PROGRAM TARGET): tests/corpus/TARGET is what is kept, build/.../corpus/TARGET what is found.
function(fuzz_test PROGRAM TARGET)
  set(kept ${CMAKE_SOURCE_DIR}/tests/corpus/${TARGET})
  set(found ${CMAKE_BINARY_DIR}/corpus/${TARGET})
  file(MAKE_DIRECTORY ${found})
  if(NOT IS_DIRECTORY ${kept})
    set(kept "")
  endif()
  add_test(NAME fuzz.${TARGET}
           COMMAND ${PROGRAM} -max_total_time=${PATERNOSTER_FUZZ_SECONDS} -timeout=10 -rss_limit_mb=2048
                   -print_final_stats=1 -verbosity=0 ${found} ${kept})
  set_tests_properties(fuzz.${TARGET} PROPERTIES LABELS fuzz TIMEOUT 3600)
endfunction()

# $<LINK_LIBRARY:WHOLE_ARCHIVE> takes every object of the archive, so that an unresolved symbol of any
# of them fails the link; what comes with it is the closure of the declared layers and nothing else.
function(layer_proofs NAME pure)
  file(WRITE ${CMAKE_BINARY_DIR}/proof/main.cc "int main() { return 0; }\n")
  add_executable(${NAME}_link_proof ${CMAKE_BINARY_DIR}/proof/main.cc)
  target_link_libraries(${NAME}_link_proof PRIVATE $<LINK_LIBRARY:WHOLE_ARCHIVE,${NAME}>)
  add_test(NAME proof.link.${NAME} COMMAND ${NAME}_link_proof)
  set_tests_properties(proof.link.${NAME} PROPERTIES LABELS proof)
  if(pure)
    add_test(NAME proof.purity.${NAME}
             COMMAND ${CMAKE_COMMAND} -DARCHIVE=$<TARGET_FILE:${NAME}> -DNM=${CMAKE_NM}
                     -DOBJDUMP=${CMAKE_OBJDUMP} -DPROCESSOR=${CMAKE_SYSTEM_PROCESSOR}
                     -DALLOWED=${CMAKE_CURRENT_FUNCTION_LIST_DIR}/pure_symbols.txt -P ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/purity.cmake)
    set_tests_properties(proof.purity.${NAME} PROPERTIES LABELS proof)
  endif()
endfunction()

# Called once, after the last layer: the list for the include proof, and the header proof in `all`.
function(finish_layers)
  get_property(layers GLOBAL PROPERTY paternoster_layers)
  file(WRITE ${CMAKE_BINARY_DIR}/layers.txt "${layers}")
  if(PATERNOSTER_TESTS AND PATERNOSTER_PROOFS)
    add_custom_target(header_proof ALL)
    add_dependencies(header_proof all_verify_interface_header_sets)
  endif()
endfunction()
