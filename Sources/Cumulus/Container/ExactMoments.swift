// The plaintext of encrypted values, with the moments that are finer than a millisecond.
//
// Called by `Keyring`. A value that milliseconds hold is its canonical bytes, which every release
// reads. Any other one has the seconds of its moments in front of them, eight bytes each, NaN for a
// moment that milliseconds hold.

import CumulusModel
import CumulusWire

extension FieldValue {
    /// Whether a moment in the value is finer than a millisecond.
    var hasExactMoments: Bool { exactMoments.contains { $0 != nil } }

    /// The canonical bytes.
    var plainBytes: Bytes {
        var writer = CanonicalWriter()
        encode(to: &writer)
        return writer.bytes
    }

    /// The exact moments and the canonical bytes.
    var exactBytes: Bytes {
        var moments = CanonicalWriter()
        for seconds in exactMoments { moments.fixed64((seconds ?? .nan).bitPattern) }
        var writer = CanonicalWriter()
        writer.delimited(moments.bytes)
        writer.raw(plainBytes)
        return writer.bytes
    }

    /// The value of exact moments and canonical bytes; nil for other bytes.
    init?(exactBytes: Bytes) {
        var reader = CanonicalReader(exactBytes)
        guard var moments = try? reader.message(),
            let value = FieldValue(encoded: Bytes(exactBytes[reader.position...]))
        else { return nil }
        self = value.mapMoments { moment in
            guard let seconds = try? moments.double(), !seconds.isNaN else { return moment }
            return Timestamp(
                millisecondsSince1970: moment.millisecondsSince1970,
                exactSeconds: seconds
            )
        }
    }

    /// The exact seconds of each moment in the value; nil for a moment that milliseconds hold.
    private var exactMoments: [Double?] {
        var all: [Double?] = []
        _ = mapMoments { moment in
            all.append(moment.exactSeconds)
            return moment
        }
        return all
    }

    /// The value with the moments of its dates and places changed.
    private func mapMoments(_ change: (Timestamp) -> Timestamp) -> FieldValue {
        switch self {
        case .timestamp(let moment): return .timestamp(change(moment))
        case .location(var place):
            place.timestamp = place.timestamp.map(change)
            return .location(place)
        case .list(let elements): return .list(elements.map { $0.mapMoments(change) })
        default: return self
        }
    }
}
