// A Talker over any api::Backend in this process. See talker.h for who may call it.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/backend.h"
#include "cli/talker.h"

namespace paternoster::cli {

class BackendTalker final : public Talker, private api::Outlet {
 public:
  explicit BackendTalker(std::unique_ptr<api::Backend> backend);
  ~BackendTalker() override;
  BackendTalker(const BackendTalker&) = delete;
  BackendTalker& operator=(const BackendTalker&) = delete;

  Result<Answer> answer(const Question& question, const OnText& on_text) override;
  std::string model() const override { return backend_->model().id; }

 private:
  void deliver(std::vector<api::BackendEvent>&& events) override;
  void show(api::LiveFrame&&) override {}
  void list(std::vector<api::RequestStatus>&&) override {}

  std::vector<api::BackendEvent> wait_for_events();

  std::unique_ptr<api::Backend> backend_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<api::BackendEvent> events_;  // guarded by mutex_
};

}  // namespace paternoster::cli
