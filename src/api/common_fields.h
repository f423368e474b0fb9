// The fields that both generating routes share.
#pragma once

#include "api/field_reader.h"
#include "api/request.h"

namespace paternoster::api {

// Reads into `ask` and into `shared`, from which the route then makes its generations.
void read_common_fields(FieldReader& fields, Ask& ask, Generation& shared);

}  // namespace paternoster::api
