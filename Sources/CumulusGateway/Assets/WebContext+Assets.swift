// assets/upload and assets/rereference: where files are uploaded, and what gives an asset that a
// record holds to another one.
//
// Folder: files of records. Read `WebContext+Assets`, then `WebLink` and `WebTransfers`, which is
// where bytes go through.

import CumulusModel
import CumulusWire

extension WebContext {
    func announceUploads() throws(WebError) -> [JSON.Member] {
        let zone = try self.zone(in: request)
        guard database != .shared || zone != nil else {
            throw .badRequest("'zoneID' is missing: it names the shared zone and its owner")
        }
        var tokens: [JSON] = []
        for item in try request.items("tokens") {
            let field = try item.needed("fieldName")
            _ = try item.string("recordType")
            let name = try item.string("recordName") ?? newRecordName()
            tokens.append(
                [
                    "recordName": .string(name), "fieldName": .string(field),
                    "url": .string(links.url(toUpload: zone)),
                ]
            )
        }
        return [JSON.Member("tokens", .array(tokens))]
    }

    func rereferenceAssets() async throws -> [JSON.Member] {
        let zone = try self.zone(in: request) ?? .default
        let target = try request.object("targetZoneID").map {
            object throws(WebError) in try WebZone.id(object, for: user)
        }
        var wishes: [(id: Record.ID, field: String, checksum: String?)] = []
        for item in try request.items("assets") {
            let name = try item.needed("recordName")
            let id = Record.ID(recordName: name, zoneID: try self.zone(in: item) ?? zone)
            wishes.append((id, try item.needed("fieldName"), try item.string("fileChecksum")))
        }
        let keys = Array(Set(wishes.map(\.field))).sorted().map { Bytes($0.utf8) }
        let results = try await fetch(wishes.map(\.id), keys: keys)
        let entries = zip(wishes, results).map { wish, result in
            do throws(WebError) {
                return try value(
                    of: result,
                    wish.field,
                    checksum: wish.checksum,
                    for: target ?? wish.id.zoneID
                )
            } catch {
                let subject = JSON.Member("recordName", .string(wish.id.recordName))
                return error.entry(subject, uuid: uuid)
            }
        }
        return [JSON.Member("assets", .array(entries))]
    }

    /// The value for another field: a list of assets becomes a list.
    ///
    /// - Parameters:
    ///   - checksum: Names an asset of a list; nil means all of the field.
    ///   - target: The zone of the record that it is for.
    private func value(
        of result: RecordResult,
        _ field: String,
        checksum: String?,
        for target: RecordZone.ID
    ) throws(WebError) -> JSON {
        let record: Record
        switch result {
        case .success(let found): record = found
        case .failure(let error): throw WebError(error)
        }
        switch record[field] {
        case .asset(let asset) where checksum ?? asset.checksum == asset.checksum:
            return links.json(asset, for: user, in: target, isUpload: false)
        case .list(let values):
            let assets = values.compactMap { if case .asset(let asset) = $0 { asset } else { nil } }
            guard assets.count == values.count else { break }
            guard let checksum else {
                return .array(
                    assets.map { links.json($0, for: user, in: target, isUpload: false) }
                )
            }
            guard let asset = assets.first(where: { $0.checksum == checksum }) else { break }
            return links.json(asset, for: user, in: target, isUpload: false)
        default: break
        }
        throw .badRequest("field '\(field)' of the record doesn't hold the asset")
    }
}

extension Asset {
    /// The value of `fileChecksum`.
    fileprivate var checksum: String { Base64.encode(digest) }
}
