// `paternoster bench compare BEFORE.json AFTER.json`.
#pragma once

namespace paternoster::cli {

int bench_compare(int argc, char** argv);

}  // namespace paternoster::cli
