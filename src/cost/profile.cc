#include "cost/profile.h"

#include <array>
#include <boost/json.hpp>
#include <fstream>
#include <iterator>

#include "base/json_writer.h"

namespace paternoster::cost {
namespace {

constexpr std::string_view kFormat = "paternoster-profile-1";

template <typename T, typename V>
struct Field {
  const char* name;
  V T::* member;
  V least;
};

constexpr std::array<Field<StepTerms, std::int64_t>, 5> kProfileTerms = {
    {{"fixed_ps", &StepTerms::fixed_ps, 0},
     {"prompt_token_ps", &StepTerms::prompt_token_ps, 0},
     {"decode_token_ps", &StepTerms::decode_token_ps, 0},
     {"decode_context_ps", &StepTerms::decode_context_ps, 0},
     {"chunk_context_ps", &StepTerms::chunk_context_ps, 0}}};
constexpr std::array<Field<StepModel, std::int64_t>, 4> kOverheads = {
    {{"step_overhead_ns", &StepModel::step_overhead_ns, 0},
     {"ingest_ns", &StepModel::ingest_ns, 0},
     {"ingest_token_ps", &StepModel::ingest_token_ps, 0},
     {"egress_ns", &StepModel::egress_ns, 0}}};
constexpr std::array<Field<StepModel, std::int64_t>, 1> kSwap = {{{"swap_block_ns", &StepModel::swap_block_ns, 0}}};
constexpr std::array<Field<Profile, std::int32_t>, 4> kLimits = {
    {{"max_seqs", &Profile::max_seqs, 1},
     {"step_tokens", &Profile::step_tokens, 1},
     {"max_len", &Profile::max_len, 2},
     {"block_size", &Profile::block_size, 1}}};

// Large enough for any machine, small enough that sums over a step stay within 64 bits.
constexpr std::int64_t kMost = std::int64_t{1} << 50;

void append_terms(JsonObject& object, const StepTerms& terms) {
  for (const auto& field : kProfileTerms) object.field(field.name, terms.*field.member);
}

class Reader {
 public:
  Reader(const boost::json::object& object, const std::string& name) : object_(object), name_(name) {}

  template <typename T, typename V, std::size_t N>
  Result<void> numbers(T& to, const std::array<Field<T, V>, N>& fields) const {
    for (const auto& field : fields) {
      const auto* value = object_.if_contains(field.name);
      const std::int64_t most = std::min<std::int64_t>(kMost, std::numeric_limits<V>::max());
      if (value == nullptr || !value->is_int64() || value->get_int64() < field.least ||
          value->get_int64() > most) {
        return wrong(std::string("\"") + field.name + "\" must be a whole number from " +
                     std::to_string(field.least));
      }
      to.*field.member = static_cast<V>(value->get_int64());
    }
    return {};
  }
  std::string text(const char* key) const {
    const auto* value = object_.if_contains(key);
    return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
  }
  std::unexpected<Error> wrong(const std::string& what) const {
    return failure(ErrorCode::kInvalidFile, name_ + ": not a profile: " + what);
  }

 private:
  const boost::json::object& object_;
  const std::string& name_;
};

Result<void> read_regimes(const boost::json::object& object, const Reader& reader, const std::string& name,
                          StepModel& model) {
  const auto* list = object.if_contains("decode_regimes");
  if (list == nullptr) return {};
  if (!list->is_array()) return reader.wrong("\"decode_regimes\" must be a list");
  for (const auto& member : list->get_array()) {
    if (!member.is_object()) return reader.wrong("a decode regime must be an object");
    const Reader inner(member.get_object(), name);
    DecodeRegime regime;
    constexpr std::array<Field<DecodeRegime, std::int64_t>, 1> kFrom = {
        {{"from_sequences", &DecodeRegime::from_sequences, 1}}};
    if (auto read = inner.numbers(regime, kFrom); !read) return read;
    if (auto read = inner.numbers(regime.terms, kProfileTerms); !read) return read;
    if (!model.decode_regimes.empty() && model.decode_regimes.back().from_sequences >= regime.from_sequences) {
      return reader.wrong("decode regimes must ascend");
    }
    model.decode_regimes.push_back(regime);
  }
  return {};
}

}  // namespace

std::string profile_json(const Profile& profile) {
  std::string out;
  JsonObject object(out);
  object.field("format", kFormat).field("name", profile.name).field("source", profile.source);
  if (!profile.serve.empty()) object.field("serve", profile.serve);
  append_terms(object, profile.model.terms);
  if (!profile.model.decode_regimes.empty()) {
    std::string& list = object.key("decode_regimes");
    list += '[';
    for (const DecodeRegime& regime : profile.model.decode_regimes) {
      if (list.back() != '[') list += ',';
      JsonObject inner(list);
      inner.field("from_sequences", regime.from_sequences);
      append_terms(inner, regime.terms);
      inner.end();
    }
    list += ']';
  }
  for (const auto& field : kOverheads) object.field(field.name, profile.model.*field.member);
  for (const auto& field : kSwap) object.field(field.name, profile.model.*field.member);
  object.field("kv_tokens", profile.kv_tokens);
  for (const auto& field : kLimits) object.field(field.name, profile.*field.member);
  object.end();
  return out;
}

Result<Profile> parse_profile(std::string_view json, const std::string& name) {
  boost::system::error_code error;
  const auto value = boost::json::parse(json, error);
  if (error) return failure(ErrorCode::kInvalidFile, name + ": not JSON: " + error.message());
  if (!value.is_object()) return failure(ErrorCode::kInvalidFile, name + ": not a profile: no JSON object");
  const boost::json::object& object = value.get_object();
  const Reader reader(object, name);
  if (reader.text("format") != kFormat) {
    return reader.wrong("\"format\" must be \"" + std::string(kFormat) + "\"; paternoster calibrate writes it");
  }
  Profile profile;
  profile.name = reader.text("name");
  profile.source = reader.text("source");
  profile.serve = reader.text("serve");
  if (auto read = reader.numbers(profile.model.terms, kProfileTerms); !read) return std::unexpected(read.error());
  if (auto read = reader.numbers(profile.model, kOverheads); !read) return std::unexpected(read.error());
  if (object.if_contains("swap_block_ns") != nullptr) {
    if (auto read = reader.numbers(profile.model, kSwap); !read) return std::unexpected(read.error());
  }
  constexpr std::array<Field<Profile, std::int64_t>, 1> kTokens = {{{"kv_tokens", &Profile::kv_tokens, 1}}};
  if (auto read = reader.numbers(profile, kTokens); !read) return std::unexpected(read.error());
  if (auto read = reader.numbers(profile, kLimits); !read) return std::unexpected(read.error());
  if (auto read = read_regimes(object, reader, name, profile.model); !read) return std::unexpected(read.error());
  return profile;
}

Result<Profile> obtain_profile(const std::string& name_or_path) {
  std::string names;
  for (const Profile& profile : published_profiles()) {
    if (profile.name == name_or_path) return profile;
    names += (names.empty() ? "" : ", ") + profile.name;
  }
  std::ifstream in(name_or_path, std::ios::binary);
  if (!in) {
    return failure(ErrorCode::kNotFound, "there is no file " + name_or_path +
                                             " and no published profile of this name; there are " + names);
  }
  return parse_profile(std::string(std::istreambuf_iterator<char>(in), {}), name_or_path);
}

}  // namespace paternoster::cost
