# The report's page is built into the program: each file of web/report becomes a string.
set(report_output ${CMAKE_BINARY_DIR}/embedded/report_page.cc)
set(report_text "#include \"report/page.h\"\n\nnamespace paternoster::report {\n\n")
foreach(part Html Css Js)
  string(TOLOWER ${part} ending)
  set(report_file ${CMAKE_SOURCE_DIR}/web/report/report.${ending})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${report_file})
  file(READ ${report_file} content)
  string(APPEND report_text "constexpr char kText${part}[] = R\"~PAGE~(${content})~PAGE~\";\n"
         "const std::string_view kPage${part}(kText${part}, sizeof kText${part} - 1);\n\n")
endforeach()
string(APPEND report_text "}  // namespace paternoster::report\n")
file(CONFIGURE OUTPUT ${report_output} CONTENT "${report_text}" @ONLY)
target_sources(${NAME} PRIVATE ${report_output})
