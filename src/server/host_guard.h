// Keeps web pages of others from using a server that only this machine should reach: their requests
// carry another Origin, or (DNS rebinding) a Host that is not this machine's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace paternoster::server {

class HostGuard {
 public:
  // `listens_on` is the address the server is bound to.
  HostGuard(std::string_view listens_on, std::vector<std::string> allowed);

  // `host` and `origin` are the headers' values; empty: not sent.
  bool allows(std::string_view host, std::string_view origin) const;

 private:
  bool knows(std::string_view name) const;

  bool local_;  // bound to a loopback address: then Host is checked too
  std::vector<std::string> allowed_;
};

}  // namespace paternoster::server
