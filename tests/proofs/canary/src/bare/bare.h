// Needs <string> and does not say so.
#pragma once

namespace canary {
std::string bare();
}
