// Damaged bytes, for readers that must refuse what isn't whole and never crash.

package import CumulusModel

package enum Damage {
    /// The bytes cut off after each length that is shorter.
    package static func truncations(of bytes: Bytes) -> [Bytes] {
        bytes.indices.map { Bytes(bytes.prefix($0)) }
    }

    /// The bytes with one to three small changes; now and then they are the same again.
    package static func mutation(of bytes: Bytes, using dice: inout SeededGenerator) -> Bytes {
        var changed = bytes
        for _ in 0..<Int.random(in: 1...3, using: &dice) {
            let place = Int.random(in: 0...changed.count, using: &dice)
            let byte =
                [0, 1, 0x7F, 0x80, 0xFF, UInt8.random(in: 0...255, using: &dice)]
                .randomElement(using: &dice) ?? 0
            switch Int.random(in: 0..<4, using: &dice) {
            case 0: changed.insert(byte, at: place)
            case 1 where place < changed.count: changed.remove(at: place)
            case 2 where place < changed.count: changed[place] ^= 1 << (byte & 7)
            default: if place < changed.count { changed[place] = byte }
            }
        }
        return changed
    }
}
