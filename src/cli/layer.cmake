set_source_files_properties(${dir}/commands.cc PROPERTIES
                            COMPILE_DEFINITIONS "PATERNOSTER_VERSION=\"${PROJECT_VERSION}\"")
# CLI11 is a dozen seconds of reading in each file that includes it: some files at a time share that.
set_target_properties(${NAME} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
