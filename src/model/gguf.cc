#include "model/gguf.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <numeric>

#include "model/gguf_parser.h"
#include "model/mapped_file.h"

namespace paternoster::model {
namespace {

// Bytes that are not printable, or above `last`, as \xNN.
std::string escaped(std::string_view text, unsigned last) {
  std::string line;
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if (byte >= 0x20 && byte != 0x7f && byte <= last) {
      line += letter;
    } else {
      char code[8];
      std::snprintf(code, sizeof code, "\\x%02x", byte);
      line += code;
    }
  }
  return line;
}

std::unexpected<Error> with_path(const std::filesystem::path& path, Error error) {
  error.message = quoted_path(path) + ": " + error.message;
  return std::unexpected(std::move(error));
}

struct OpenedPart {
  std::shared_ptr<MappedFile> mapping;
  GgufFile file;
};

// Opens one file; takes the header bytes it read from the budget that all parts share.
Result<OpenedPart> open_part(const std::filesystem::path& path, std::uint64_t& header_budget) {
  auto mapping = MappedFile::open(path);
  if (!mapping) return with_path(path, mapping.error());
  GgufParser parser((*mapping)->bytes(), header_budget);
  Result<GgufFile> file = parser.parse();
  if (!file) return with_path(path, file.error());
  header_budget -= parser.header_bytes();
  return OpenedPart{std::move(*mapping), std::move(*file)};
}

// "dir/name-00002-of-00003.gguf" taken apart.
struct SplitName {
  std::string prefix;  // "dir/name"
  std::uint32_t number;  // from 1
  std::uint32_t count;

  std::string part(std::uint32_t which) const {
    char suffix[32];
    std::snprintf(suffix, sizeof suffix, "-%05u-of-%05u.gguf", which, count);
    return prefix + suffix;
  }
};

std::optional<SplitName> split_name(const std::filesystem::path& path) {
  const std::string text = path.string();
  constexpr std::size_t kSuffix = std::string_view("-00001-of-00003.gguf").size();
  if (text.size() <= kSuffix) return std::nullopt;
  SplitName name{text.substr(0, text.size() - kSuffix), 0, 0};
  const char* suffix = text.data() + name.prefix.size();
  std::from_chars(suffix + 1, suffix + 6, name.number);
  std::from_chars(suffix + 10, suffix + 15, name.count);
  // Only the canonical spelling: whatever else the suffix is, it does not spell the same text.
  if (name.number < 1 || name.number > name.count || name.part(name.number) != text) {
    return std::nullopt;
  }
  return name;
}

// How many files the model says it is made of.
Result<std::uint32_t> split_count(const GgufFile& file) {
  const auto count = file.u32("split.count");
  if (!count) return std::unexpected(count.error());
  const std::uint32_t parts = count->value_or(1);
  if (parts > GgufFile::kMaximumSplits) {
    return invalid_file("key 'split.count': " + std::to_string(parts) + " parts; at most " +
                   std::to_string(GgufFile::kMaximumSplits) + " can be");
  }
  return std::max(parts, 1u);
}

}  // namespace

GgufFile::GgufFile() = default;
GgufFile::GgufFile(GgufFile&&) noexcept = default;
GgufFile& GgufFile::operator=(GgufFile&&) noexcept = default;
void GgufFile::release_pages() const noexcept {
  for (const auto& mapping : mappings_) mapping->release();
}

GgufFile::~GgufFile() = default;

Result<GgufFile> GgufFile::from_memory(std::span<const std::byte> bytes) {
  Result<GgufFile> file = GgufParser(bytes, kMaximumHeaderBytes).parse();
  if (!file) return file;
  const Result<std::uint32_t> parts = split_count(*file);
  if (!parts) return std::unexpected(parts.error());
  if (*parts > 1) return invalid_file("key 'split.count': is one part of a split model");
  return file;
}

Result<GgufFile> GgufFile::open(const std::filesystem::path& path) {
  std::uint64_t header_budget = kMaximumHeaderBytes;
  const auto split = split_name(path);
  const std::filesystem::path first_path = split ? std::filesystem::path(split->part(1)) : path;
  Result<OpenedPart> first = open_part(first_path, header_budget);
  if (!first) return std::unexpected(first.error());
  GgufFile file = std::move(first->file);
  file.mappings_.push_back(std::move(first->mapping));
  const Result<std::uint32_t> count = split_count(file);
  if (!count) return with_path(first_path, count.error());
  if (*count == 1) return file;
  if (!split || split->count != *count) {
    const std::string ending = SplitName{"", 1, *count}.part(1).substr(6);  // after "-00001"
    return with_path(first_path, {ErrorCode::kInvalidFile,
                                  "key 'split.count': is one of " + std::to_string(*count) +
                                      " parts, but its name does not end in -0000N" +
                                      ending});
  }
  for (std::uint32_t number = 2; number <= *count; ++number) {
    Result<OpenedPart> part = open_part(split->part(number), header_budget);
    if (!part) return std::unexpected(part.error());
    file.mappings_.push_back(std::move(part->mapping));
    auto done = file.append_part(std::move(part->file), number, *count);
    if (!done) return with_path(split->part(number), done.error());
  }
  if (auto done = file.index(); !done) return with_path(path, done.error());
  const auto expected = file.u64("split.tensors.count");
  if (!expected) return with_path(first_path, expected.error());
  if (*expected && **expected != file.tensors_.size()) {
    return with_path(first_path, {ErrorCode::kInvalidFile,
                                  "key 'split.tensors.count': says " + std::to_string(**expected) +
                                      " tensors, the parts hold " +
                                      std::to_string(file.tensors_.size())});
  }
  return file;
}

// Takes a further part's tensors; only the first part's metadata counts.
Result<void> GgufFile::append_part(GgufFile&& part, std::uint32_t number, std::uint32_t count) {
  const auto part_count = part.u32("split.count");
  if (!part_count) return std::unexpected(part_count.error());
  const auto part_number = part.u32("split.no");
  if (!part_number) return std::unexpected(part_number.error());
  if (part_count->value_or(0) != count || part_number->value_or(0) != number - 1) {
    return invalid_file("keys 'split.no' and 'split.count': is not part " + std::to_string(number) +
                   " of " + std::to_string(count));
  }
  if (tensors_.size() + part.tensors_.size() > kMaximumTensors) {
    return invalid_file("the parts have too many tensors together");
  }
  tensors_.insert(tensors_.end(), part.tensors_.begin(), part.tensors_.end());
  file_bytes_ += part.file_bytes_;
  parts_ = number;
  return {};
}

// Sorts names for look-up; a name that stands twice is an error.
Result<void> GgufFile::index() {
  keys_by_name_.resize(metadata_.size());
  std::iota(keys_by_name_.begin(), keys_by_name_.end(), 0u);
  const auto key = [this](std::uint32_t at) { return metadata_[at].key; };
  std::ranges::sort(keys_by_name_, {}, key);
  const auto same_key = std::ranges::adjacent_find(keys_by_name_, {}, key);
  if (same_key != keys_by_name_.end()) {
    return invalid_file("key " + quoted_name(key(*same_key)) + ": stands twice in the file");
  }
  tensors_by_name_.resize(tensors_.size());
  std::iota(tensors_by_name_.begin(), tensors_by_name_.end(), 0u);
  const auto tensor = [this](std::uint32_t at) { return tensors_[at].name; };
  std::ranges::sort(tensors_by_name_, {}, tensor);
  const auto same_tensor = std::ranges::adjacent_find(tensors_by_name_, {}, tensor);
  if (same_tensor != tensors_by_name_.end()) {
    return invalid_file("tensor " + quoted_name(tensor(*same_tensor)) + ": stands twice in the file");
  }
  return {};
}

const MetadataEntry* GgufFile::find(std::string_view key) const noexcept {
  const auto key_at = [this](std::uint32_t at) { return metadata_[at].key; };
  const auto found = std::ranges::lower_bound(keys_by_name_, key, {}, key_at);
  return found != keys_by_name_.end() && key_at(*found) == key ? &metadata_[*found] : nullptr;
}

const TensorInfo* GgufFile::find_tensor(std::string_view name) const noexcept {
  const auto name_at = [this](std::uint32_t at) { return tensors_[at].name; };
  const auto found = std::ranges::lower_bound(tensors_by_name_, name, {}, name_at);
  return found != tensors_by_name_.end() && name_at(*found) == name ? &tensors_[*found] : nullptr;
}

std::string quoted_name(std::string_view name) {
  constexpr std::size_t kLongest = 64;
  const std::string cut = name.size() > kLongest ? "..." : "";
  return "'" + escaped(name.substr(0, kLongest), 0x7e) + cut + "'";
}

std::string quoted_path(const std::filesystem::path& path) {
  return "'" + escaped(path.string(), 0xff) + "'";
}

}  // namespace paternoster::model
