// Writes the value of a field as answers have it: always with its type, numbers as text if the
// request wants that.
//
// It is called for each field of each record of an answer. `WebFieldReader` reads its output back
// as the same value, except for assets, which are written back by a receipt.

package import CumulusModel

package struct WebFieldWriter: Sendable {
    /// 64 bits don't fit into the numbers of JavaScript.
    let numbersAsStrings: Bool
    /// The caller's user record name; empty: no user is signed in.
    let user: String
    /// The URL from which the content of an asset is downloaded.
    let downloadURL: @Sendable (Asset) -> String?

    package init(
        numbersAsStrings: Bool = false,
        user: String,
        downloadURL: @escaping @Sendable (Asset) -> String? = { _ in nil }
    ) {
        self.numbersAsStrings = numbersAsStrings
        self.user = user
        self.downloadURL = downloadURL
    }

    /// The field dictionary of a value.
    ///
    /// - Parameter column: The field's type in the schema.
    package func json(
        _ value: FieldValue,
        in zone: RecordZone.ID,
        column: FieldType?
    ) -> JSON {
        [
            "value": bare(value, in: zone),
            "type": .string(WebFieldType.tag(of: value, column: column)),
        ]
    }

    /// The field dictionary of a value that only clients with the user's key can read.
    func json(_ sealed: SealedValue) -> JSON {
        [
            "value": .string(Base64.encode(sealed.bytes)), "type": "ENCRYPTED_BYTES",
            "isEncrypted": .bool(true),
        ]
    }

    /// The value without its type.
    func bare(_ value: FieldValue, in zone: RecordZone.ID) -> JSON {
        switch value {
        case .string(let text): return .string(text)
        case .int64(let number): return integer(number)
        case .double(let number):
            if number.isInfinite { return number < 0 ? "-Infinity" : "Infinity" }
            return numbersAsStrings ? .string("\(number)") : .decimal(number)
        case .timestamp(let moment): return integer(moment.millisecondsSince1970)
        case .bytes(let bytes): return .string(Base64.encode(bytes))
        case .location(let location): return location.webJSON
        case .reference(let reference):
            return [
                "recordName": .string(reference.recordName),
                "zoneID": WebZone.json(zone, user: user),
                "action": reference.action == .deleteSelf ? "DELETE_SELF" : "NONE",
            ]
        case .asset(let asset):
            var members = [
                JSON.Member("fileChecksum", .string(Base64.encode(asset.digest))),
                JSON.Member("size", .integer(Int64(clamping: asset.size))),
            ]
            if let url = downloadURL(asset) {
                members.append(JSON.Member("downloadURL", .string(url)))
            }
            return .object(members)
        case .list(let elements): return .array(elements.map { bare($0, in: zone) })
        }
    }

    private func integer(_ number: Int64) -> JSON {
        numbersAsStrings ? .string(String(number)) : .integer(number)
    }
}

extension Location {
    /// The stored parts only.
    package var webJSON: JSON {
        let numbers: [(String, Double?)] = [
            ("latitude", latitude), ("longitude", longitude),
            ("horizontalAccuracy", horizontalAccuracy), ("verticalAccuracy", verticalAccuracy),
            ("altitude", altitude), ("speed", speed), ("course", course),
        ]
        var members = numbers.compactMap { key, number in
            number.map { JSON.Member(key, .decimal($0)) }
        }
        if let timestamp {
            members.append(JSON.Member("timestamp", .integer(timestamp.millisecondsSince1970)))
        }
        return .object(members)
    }
}
