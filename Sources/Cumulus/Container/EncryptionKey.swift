// The keys of encrypted fields: values are sealed before a record is sent, and opened when one
// arrives.
//
// Called by `Database` for every record, either way. A sealed value is: version (1 byte), key id
// (8), nonce (12), ciphertext, tag (16), by AES-256-GCM. `ExactMoments` says what version 2 adds.
// The names of container, environment, zone, record, type and field, and the kind of the value are
// authenticated with it, so that a server can't pass off one field as another. It can still return
// an older value of the same field.

import Crypto
import CumulusModel
import CumulusWire

/// A key that seals and opens encrypted fields: 32 bytes that no server ever gets.
///
/// Without it, values that it sealed can't be read.
///
/// ```swift
/// let key = EncryptionKey()          // keep key.text where only you can read it
/// configuration.encryptionKeys = [key]
/// note.encryptedValues["diary"] = "Nobody knows."
/// ```
public struct EncryptionKey: Hashable, Sendable {
    let bytes: [UInt8]

    /// A new random key.
    public init() {
        bytes = SymmetricKey(size: .bits256).withUnsafeBytes(Array.init)
    }

    /// The key with that text; nil if it isn't one.
    public init?(text: String) {
        guard let bytes = [UInt8](hex: text), bytes.count == 32 else { return nil }
        self.bytes = bytes
    }

    /// The key as 64 hexadecimal digits.
    public var text: String { bytes.hex }
}

/// The keys of a container's caller.
package struct Keyring: Sendable {
    private struct Entry: Sendable {
        let id: Bytes
        let key: SymmetricKey
    }

    /// The version of a value whose moments fit into milliseconds.
    private static let version: UInt8 = 1
    /// The version of a value that follows its exact moments.
    private static let exactVersion: UInt8 = 2
    private static let idBytes = 8

    private let container: String
    private let environment: Environment
    private let entries: [Entry]

    /// - Parameter keys: The first one seals; each may open.
    package init(
        _ keys: [EncryptionKey],
        container: String,
        environment: Environment = .development
    ) {
        self.container = container
        self.environment = environment
        entries = keys.map { key in
            let id = SHA256.hash(data: Bytes("cumulus field key".utf8) + key.bytes)
            return Entry(
                id: Bytes(id.prefix(Keyring.idBytes)),
                key: SymmetricKey(data: key.bytes)
            )
        }
    }

    // MARK: Records

    /// The record with the values sealed that will be sent: the changed ones, or all.
    package func sealing(_ record: Record, all: Bool = true) throws(ServiceError) -> Record {
        var sealed = record
        for (field, value) in record.encryptedValues.values {
            guard case .open(let value) = value else { continue }
            guard all || record.encryptedValues.changed.contains(field) else { continue }
            let place = Place(record: record, field: field)
            sealed.receive(encrypted: .sealed(try seal(value, at: place)), for: field)
        }
        return sealed
    }

    /// The record with the values open that one of the keys opens.
    package func opening(_ record: Record) -> Record {
        guard !record.encryptedValues.values.isEmpty, !entries.isEmpty else { return record }
        var opened = record
        for (field, value) in record.encryptedValues.values {
            guard case .sealed(let value) = value else { continue }
            if let value = open(value, at: Place(record: record, field: field)) {
                opened.receive(encrypted: .open(value), for: field)
            }
        }
        return opened
    }

    /// The same for the record in an error.
    func opening(_ error: ServiceError) -> ServiceError {
        var error = error
        error.serverRecord = error.serverRecord.map(opening)
        return error
    }

    // MARK: Values

    /// The place of a value.
    private struct Place {
        let record: Record
        let field: String
        var recordID: Record.ID { record.recordID }
    }

    private func seal(
        _ value: FieldValue,
        at place: Place
    ) throws(ServiceError) -> SealedValue {
        guard let entry = entries.first else {
            throw invalid(
                place,
                """
                there is no key; set encryptionKeys in the container's configuration, or name a \
                file with --encryption-key-file
                """
            )
        }
        var sealed = SealedValue(kind: value.kind, isList: value.list != nil, bytes: [])
        guard value.isEncryptable else {
            throw invalid(place, "references, assets and lists of several kinds can't be encrypted")
        }
        let isExact = value.hasExactMoments
        do {
            let box = try AES.GCM.seal(
                isExact ? value.exactBytes : value.plainBytes,
                using: entry.key,
                authenticating: context(of: sealed, at: place)
            )
            let version = isExact ? Keyring.exactVersion : Keyring.version
            sealed.bytes = [version] + entry.id + box.nonce + box.ciphertext + box.tag
        } catch {
            throw invalid(place, "\(error)")
        }
        return sealed
    }

    private func open(_ sealed: SealedValue, at place: Place) -> FieldValue? {
        guard let version = sealed.bytes.first,
            version == Keyring.version || version == Keyring.exactVersion,
            sealed.bytes.count > 1 + Keyring.idBytes,
            let entry = entries.first(where: { sealed.bytes[1...].starts(with: $0.id) }),
            let box = try? AES.GCM.SealedBox(combined: sealed.bytes[(1 + Keyring.idBytes)...]),
            let plain = try? AES.GCM.open(
                box,
                using: entry.key,
                authenticating: context(of: sealed, at: place)
            )
        else { return nil }
        return version == Keyring.exactVersion
            ? FieldValue(exactBytes: Bytes(plain)) : FieldValue(encoded: Bytes(plain))
    }

    /// The context that is authenticated with a value.
    ///
    /// It leaves out the zone's owner, whom each participant calls by another name.
    private func context(of sealed: SealedValue, at place: Place) -> Bytes {
        var writer = CanonicalWriter()
        for part in [
            "cumulus field", container, environment.name, place.recordID.zoneID.zoneName,
            place.recordID.recordName, place.record.recordType, place.field,
        ] {
            writer.delimited(Bytes(part.utf8))
        }
        writer.varint(UInt64(sealed.kind?.rawValue ?? 0))
        writer.varint(sealed.isList ? 1 : 0)
        return writer.bytes
    }

    private func invalid(_ place: Place, _ why: String) -> ServiceError {
        ServiceError(
            .invalidArguments,
            .invalidValue,
            "field '\(place.field)' of record '\(place.recordID.recordName)': \(why)"
        )
    }
}

extension FieldValue {
    /// Whether it may be encrypted: of a kind that may be, and a list only of one kind.
    fileprivate var isEncryptable: Bool {
        guard let list else { return kind?.isEncryptable ?? false }
        return list.allSatisfy { $0.list == nil && $0.kind == kind && $0.isEncryptable }
    }
}
