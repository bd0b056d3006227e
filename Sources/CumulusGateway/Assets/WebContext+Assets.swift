// assets/upload and assets/rereference: where files are uploaded, and what gives an asset that a
// record holds to another one.
//
// Folder: files of records. Read `WebContext+Assets`, then `WebLink` and `WebTransfers`, which is
// where bytes go through.

import CumulusModel
import CumulusWire

extension WebContext {
    func announceUploads() throws(WebError) -> [JSON.Member] {
        let zone = try WebZone.id(in: request)
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
        let zone = try WebZone.id(in: request) ?? .default
        var wishes: [(id: Record.ID, field: String, checksum: String?)] = []
        for item in try request.items("assets") {
            let name = try item.needed("recordName")
            let id = Record.ID(recordName: name, zoneID: try WebZone.id(in: item) ?? zone)
            wishes.append((id, try item.needed("fieldName"), try item.string("fileChecksum")))
        }
        let keys = Array(Set(wishes.map(\.field))).sorted().map { Bytes($0.utf8) }
        let results = try await fetch(wishes.map(\.id), keys: keys)
        let entries = zip(wishes, results).map { wish, result in
            do throws(WebError) {
                let asset = try asset(in: result, wish.field, checksum: wish.checksum)
                return links.json(asset, for: user)
            } catch {
                let subject = JSON.Member("recordName", .string(wish.id.recordName))
                return error.entry(subject, uuid: uuid)
            }
        }
        return [JSON.Member("assets", .array(entries))]
    }

    /// - Parameter checksum: Names an asset of a list; the field's only one needs no name.
    private func asset(
        in result: RecordResult,
        _ field: String,
        checksum: String?
    ) throws(WebError) -> Asset {
        let record: Record
        switch result {
        case .success(let found): record = found
        case .failure(let error): throw WebError(error)
        }
        var assets: [Asset] = []
        switch record[field] {
        case .asset(let asset)?: assets = [asset]
        case .list(let elements)?:
            guard checksum != nil else {
                throw .badRequest("field '\(field)' is a list; name its asset by 'fileChecksum'")
            }
            for case .asset(let asset) in elements { assets.append(asset) }
        default: break
        }
        let found = assets.first { checksum == nil || checksum == Base64.encode($0.digest) }
        guard let found else {
            throw .badRequest("field '\(field)' of the record doesn't hold the asset")
        }
        return found
    }
}
