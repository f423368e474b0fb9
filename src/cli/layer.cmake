set_source_files_properties(${dir}/commands.cc PROPERTIES
                            COMPILE_DEFINITIONS "PATERNOSTER_VERSION=\"${PROJECT_VERSION}\"")
