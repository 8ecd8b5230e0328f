#pragma once
#include "runtime/build.hpp"

namespace controller {

/// Makes the key pairs that are asked for, and no others, and puts them into the inputs of a build.
api::Result<> make_key_material(const runtime::Needs& needs, runtime::Inputs& inputs);

}  // namespace controller
