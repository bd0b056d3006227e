// The descriptors of `proto/` in the binary: what gRPC's reflection tells callers of the messages.
//
// `cluster/proto` makes the file with protoc, and `PackageResources` is made by SwiftPM from its
// name. Handed to `GRPCListener` by `cumulusd`, and by tests.

package enum DescriptorFile {
    /// A `FileDescriptorSet` of the files that callers need.
    package static let all = PackageResources.protocol_binpb
}
