#pragma once
#include <string>
#include <string_view>

namespace runtime {

/// Encodes ZeroMQ's base-85 (rfc.zeromq.org/spec/32): five characters for four bytes. Omits an incomplete
/// group at the end; keys of 32 bytes have none.
std::string to_z85(std::string_view bytes);

}  // namespace runtime
