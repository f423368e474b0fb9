# Builds the canary project target by target: the sound ones must build, each broken one must fail
# with the words of its own proof.
execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE} -B ${BINARY} -G ${GENERATOR}
                        -DCMAKE_CXX_COMPILER=${COMPILER}
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)

function(build TARGET)
  execute_process(COMMAND ${CMAKE_COMMAND} --build ${BINARY} --target ${TARGET}
                  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  set(status ${status} PARENT_SCOPE)
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(must_build TARGET)
  build(${TARGET})
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${TARGET} should have built:\n${output}")
  endif()
endfunction()

function(must_fail TARGET EXPRESSION)
  build(${TARGET})
  if(status EQUAL 0 OR NOT output MATCHES "${EXPRESSION}")
    message(FATAL_ERROR "${TARGET} should have failed with '${EXPRESSION}':\n${output}")
  endif()
  message(STATUS "${TARGET} fails as it must")
endfunction()

function(must_be TARGET PURITY)
  build(${TARGET})
  execute_process(COMMAND ${CMAKE_CTEST_COMMAND} --test-dir ${BINARY} -R ^proof.purity.${TARGET}$ --output-on-failure
                  RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_QUIET)
  if(PURITY STREQUAL pure AND failed)
    message(FATAL_ERROR "${TARGET} should be pure:\n${output}")
  elseif(PURITY STREQUAL impure AND NOT output MATCHES "is not pure.*std::chrono")
    message(FATAL_ERROR "${TARGET} should not be pure:\n${output}")
  endif()
endfunction()

must_build(sound_link_proof)
must_build(sound_verify_interface_header_sets)
must_build(high_link_proof)
must_fail(low_link_proof "undefined reference to .canary::high")
must_fail(bare_verify_interface_header_sets "string.*(does not name a type|is not a member|not declared)")
must_be(sound pure)
must_be(impure impure)
