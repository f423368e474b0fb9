# The page is built into the program: every file of web/ with a known ending becomes an array.
file(GLOB page_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/web/*.html ${CMAKE_SOURCE_DIR}/web/*.js
     ${CMAKE_SOURCE_DIR}/web/*.css ${CMAKE_SOURCE_DIR}/web/*.svg)
set(page_output ${CMAKE_BINARY_DIR}/embedded/page_data.cc)
add_custom_command(
  OUTPUT ${page_output}
  COMMAND ${CMAKE_COMMAND} "-DFILES=${page_sources}" -DOUTPUT=${page_output} -P ${dir}/embed_page.cmake
  DEPENDS ${page_sources} ${dir}/embed_page.cmake
  COMMENT "Embedding the page"
  VERBATIM)
target_sources(${NAME} PRIVATE ${page_output})
# Asio's and Beast's headers are not ours to warn about.
target_include_directories(${NAME} SYSTEM PRIVATE ${Boost_INCLUDE_DIRS})
