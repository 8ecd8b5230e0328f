#pragma once
#include <string>
#include <string_view>

namespace runtime {

/// ZeroMQ's base-85 encoding (rfc.zeromq.org/spec/32): five characters for four bytes. Bytes that make no
/// whole group at the end are left out; keys of 32 bytes have none.
std::string to_z85(std::string_view bytes);

}  // namespace runtime
