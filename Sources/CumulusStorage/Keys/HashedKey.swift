// A key as the key of a dictionary.
//
// Used by what the writer keeps by key: `Overlay`, `MetaCache`, `WriteTransaction`. An array is
// hashed byte by byte, which took a fifth of the processor where saves replaced indexed records;
// this hashes the whole at once. hot: several times per save.

import CumulusModel

struct HashedKey: Hashable, Sendable {
    let bytes: Bytes

    init(_ bytes: Bytes) { self.bytes = bytes }

    func hash(into hasher: inout Hasher) {
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    }
}
