// A run's figures as a table for the terminal: what simulate, bench and advise print.
#pragma once

#include <string>

#include "measure/summary.h"

namespace paternoster::cli {

std::string figures_table(const measure::Summary& summary);

}  // namespace paternoster::cli
