// Writes the value of a field as answers have it: always with its type, numbers as text if the
// request wants that.
//
// It is called for each field of each record of an answer. `WebFieldReader` reads its output back
// as the same value, except for assets, which are written back by a receipt. hot: once per field.

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

    /// Writes the field dictionary of a value.
    ///
    /// - Parameter column: The field's type in the schema.
    package func write(
        _ value: FieldValue,
        in zone: RecordZone.ID,
        column: FieldType?,
        to json: inout JSONWriter
    ) {
        json.object { json in
            json.key("value")
            bare(value, in: zone, to: &json)
            json.member("type", .string(WebFieldType.tag(of: value, column: column)))
        }
    }

    /// The same as a value.
    package func json(
        _ value: FieldValue,
        in zone: RecordZone.ID,
        column: FieldType?
    ) -> JSON {
        JSON { write(value, in: zone, column: column, to: &$0) }
    }

    /// Writes the field dictionary of a value that only clients with the user's key can read.
    func write(_ sealed: SealedValue, to json: inout JSONWriter) {
        json.object { json in
            json.member("value", .string(Base64.encode(sealed.bytes)))
            json.member("type", "ENCRYPTED_BYTES")
            json.member("isEncrypted", .bool(true))
        }
    }

    /// Writes the value without its type.
    func bare(_ value: FieldValue, in zone: RecordZone.ID, to json: inout JSONWriter) {
        switch value {
        case .string(let text): json.value(.string(text))
        case .int64(let number): json.value(integer(number))
        case .double(let number): json.value(decimal(number))
        case .timestamp(let moment): json.value(integer(moment.millisecondsSince1970))
        case .bytes(let bytes): json.value(.string(Base64.encode(bytes)))
        case .location(let location): location.write(to: &json)
        case .reference(let reference):
            json.object { json in
                json.member("recordName", .string(reference.recordName))
                json.key("zoneID")
                WebZone.write(zone, user: user, to: &json)
                let isOwning = reference.action == .deleteSelf
                json.member("action", isOwning ? "DELETE_SELF" : "NONE")
            }
        case .asset(let asset): write(asset, to: &json)
        case .list(let elements):
            json.array(of: elements) { bare($0, in: zone, to: &$1) }
        }
    }

    private func write(_ asset: Asset, to json: inout JSONWriter) {
        json.object { json in
            json.member("fileChecksum", .string(Base64.encode(asset.digest)))
            json.member("size", .integer(Int64(clamping: asset.size)))
            if let url = downloadURL(asset) { json.member("downloadURL", .string(url)) }
        }
    }

    private func integer(_ number: Int64) -> JSON {
        numbersAsStrings ? .string(String(number)) : .integer(number)
    }

    private func decimal(_ number: Double) -> JSON {
        if number.isInfinite { return number < 0 ? "-Infinity" : "Infinity" }
        return numbersAsStrings ? .string("\(number)") : .decimal(number)
    }
}

extension Location {
    /// Writes the stored parts only.
    func write(to json: inout JSONWriter) {
        let numbers: [(String, Double?)] = [
            ("latitude", latitude), ("longitude", longitude),
            ("horizontalAccuracy", horizontalAccuracy), ("verticalAccuracy", verticalAccuracy),
            ("altitude", altitude), ("speed", speed), ("course", course),
        ]
        json.object { json in
            for (key, number) in numbers {
                if let number { json.member(key, .decimal(number)) }
            }
            if let timestamp {
                json.member("timestamp", .integer(timestamp.millisecondsSince1970))
            }
        }
    }
}
