# src/text/rust is one small static library behind a C ABI (chat templates now, constraints later).
# Only one Rust library may be linked into a program, so everything of Rust lives in that crate.
find_program(CARGO cargo REQUIRED)
set(text_rust_dir ${CMAKE_SOURCE_DIR}/src/text/rust)
set(PATERNOSTER_CARGO_DIR ${CMAKE_BINARY_DIR}/cargo CACHE PATH "where cargo builds; the presets share one")
set(text_rust_lib ${PATERNOSTER_CARGO_DIR}/release/libpaternoster_text.a)
file(GLOB text_rust_sources CONFIGURE_DEPENDS ${text_rust_dir}/src/*.rs ${text_rust_dir}/Cargo.toml
     ${text_rust_dir}/Cargo.lock)
add_custom_command(
  OUTPUT ${text_rust_lib}
  COMMAND ${CMAKE_COMMAND} -E env CARGO_TARGET_DIR=${PATERNOSTER_CARGO_DIR}
          ${CARGO} build --release --locked --quiet --manifest-path ${text_rust_dir}/Cargo.toml
  COMMAND ${CMAKE_COMMAND} -E touch ${text_rust_lib}
  DEPENDS ${text_rust_sources}
  COMMENT "Building the Rust half of text/"
  VERBATIM)
add_custom_target(text_rust_build DEPENDS ${text_rust_lib})
add_library(text_rust INTERFACE)
add_dependencies(text_rust text_rust_build)
target_link_libraries(text_rust INTERFACE ${text_rust_lib} Threads::Threads ${CMAKE_DL_LIBS} m)
