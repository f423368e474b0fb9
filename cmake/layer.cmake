# layer(NAME [PURE] [USES layer...] [LINKS library...]): one folder of src/ as one static library.
#
#   x.h x.cc        the library            x_test.cc    GoogleTest, one program a layer, found by suffix
#   x_fuzz.cc       libFuzzer target       x_bench.cc   Google Benchmark, one program a layer
#
# Three proofs come with each layer, all part of the default build of the tests:
#   link    an empty main linked with the whole archive and only its declared dependencies
#   header  every header compiles alone (CMAKE_VERIFY_INTERFACE_HEADER_SETS)
#   purity  PURE layers: undefined symbols stay on the allow list (cmake/purity.cmake)
set(CMAKE_VERIFY_INTERFACE_HEADER_SETS ON)

function(layer NAME)
  cmake_parse_arguments(L "PURE" "" "USES;LINKS" ${ARGN})
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
    layer_benches(${NAME} "${benches}")
    layer_proofs(${NAME} "${L_USES}" "${L_LINKS}" ${L_PURE})
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
  target_compile_definitions(${NAME}_test PRIVATE PATERNOSTER_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  include(GoogleTest)
  gtest_discover_tests(${NAME}_test TEST_PREFIX "${NAME}." DISCOVERY_TIMEOUT 60
                       PROPERTIES TIMEOUT 600 LABELS ${NAME})
endfunction()

function(layer_benches NAME benches)
  if(benches)
    add_executable(${NAME}_bench ${benches})
    target_link_libraries(${NAME}_bench PRIVATE ${NAME} benchmark::benchmark_main)
  endif()
endfunction()

function(layer_fuzzers NAME fuzzers)
  foreach(source ${fuzzers})
    get_filename_component(stem ${source} NAME_WE)
    add_executable(${stem} ${source})
    target_link_libraries(${stem} PRIVATE ${NAME} -fsanitize=fuzzer)
    set_property(GLOBAL APPEND PROPERTY paternoster_fuzzers ${stem})
  endforeach()
endfunction()

function(layer_proofs NAME uses links pure)
  file(WRITE ${CMAKE_BINARY_DIR}/proof/main.cc "int main() { return 0; }\n")
  add_executable(${NAME}_link_proof ${CMAKE_BINARY_DIR}/proof/main.cc)
  target_link_libraries(${NAME}_link_proof PRIVATE house $<LINK_LIBRARY:WHOLE_ARCHIVE,${NAME}> ${uses} ${links})
  add_test(NAME proof.link.${NAME} COMMAND ${NAME}_link_proof)
  if(pure)
    add_test(NAME proof.purity.${NAME}
             COMMAND ${CMAKE_COMMAND} -DARCHIVE=$<TARGET_FILE:${NAME}> -DNM=${CMAKE_NM}
                     -DALLOWED=${CMAKE_SOURCE_DIR}/cmake/pure_symbols.txt -P ${CMAKE_SOURCE_DIR}/cmake/purity.cmake)
  endif()
endfunction()

# Called once, after the last layer.
function(finish_layers)
endfunction()
