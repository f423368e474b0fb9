// From what a request says of itself to the standing it gets: body, headers and the key's terms put
// together.
//
// A header wins over the body's field: it is the word of whoever stands between (a gateway). Of two
// timeouts the shorter counts. With keys, work is charged to the key: only one marked `gateway` may
// name another tenant, or a client could escape its share by inventing names.
#pragma once

#include "api/error.h"
#include "api/standing.h"
#include "server/api_keys.h"
#include "server/http_request.h"

namespace paternoster::server {

// `terms` is null where there are no keys.
api::ApiResult<api::Standing> standing_of(const api::Wish& wish, const CallerHeaders& headers,
                                          const KeyTerms* terms);

}  // namespace paternoster::server
