#include "server/host_guard.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace paternoster::server {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

std::string_view without_port(std::string_view authority) {
  if (authority.starts_with('[')) return authority.substr(0, authority.find(']') + 1);
  return authority.substr(0, authority.find(':'));
}

// Numbers cannot be rebound: only names can.
bool is_address(std::string_view name) {
  return name.starts_with('[') || name.find_first_not_of("0123456789.") == std::string_view::npos;
}

bool is_local(std::string_view address) {
  return address.starts_with("127.") || address == "::1" || address == "localhost";
}

std::string machine_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? lower(name.data()) : "";
}

}  // namespace

HostGuard::HostGuard(std::string_view listens_on, std::vector<std::string> allowed)
    : local_(is_local(listens_on)), allowed_(std::move(allowed)) {
  for (std::string& name : allowed_) name = lower(name);
  allowed_.push_back("localhost");
  allowed_.push_back(machine_name());
}

bool HostGuard::knows(std::string_view name) const {
  return name.empty() || is_address(name) || name.ends_with(".localhost") ||
         std::ranges::find(allowed_, name) != allowed_.end();
}

bool HostGuard::allows(std::string_view host, std::string_view origin) const {
  if (local_ && !knows(lower(without_port(host)))) return false;
  if (origin.empty()) return true;
  const auto scheme = origin.find("://");
  return scheme != std::string_view::npos && lower(origin.substr(scheme + 3)) == lower(host);
}

}  // namespace paternoster::server
