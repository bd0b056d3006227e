// Assets of records in the console's pages: pictures on their way down, files on their way up.
//
// A picture is read as a whole; the command `cumulus asset` fetches larger files. A file is
// uploaded as by web services: it passes through, and the node removes it a day later if no record
// names it.

import CumulusAssets
import CumulusModel
import CumulusWire

extension ConsoleCall {
    private static let mostBytes: UInt64 = 16 << 20

    /// The asset of a field; the record that names it says who may read it.
    func asset() async throws -> ConsoleReply {
        let scope = try scope()
        let database = try database()
        guard let digest = Base64.decode(try values.needed("digest")), digest.count == 32 else {
            throw WebError.badRequest("'digest' must be the asset's fileChecksum")
        }
        let record = Record.ID(recordName: try values.needed("record"), zoneID: try zone())
        var message = DownloadAssetRequest(database: database, asset: digest)
        message.record = WireRecordID(record)
        message.field = try bytes("field")
        message.length = ConsoleCall.mostBytes
        let calls = try await caller(in: scope)
        defer { calls.close() }
        let answers = try await calls.read(.assetsDownload, message.encoded()).map {
            try DownloadAssetResponse(wire: $0)
        }
        let content = try ConsoleCall.content(answers, of: digest)
        return .content(content, picture: ConsoleCall.picture(content))
    }

    /// Takes a file for a field, as the user for whom the operator acts: the operator saves no
    /// records.
    func upload<Body: AsyncSequence>(
        _ body: Body,
        limit: Int,
        onWait: () -> Void
    ) async throws -> ConsoleReply where Body.Element == Bytes {
        let scope = try scope()
        let calls = try await user(in: scope)
        defer { calls.close() }
        do {
            return try await upload(body, in: scope, calls, limit: limit, onWait: onWait)
        } catch let error as ServiceError where error.code == .notAuthenticated {
            throw ConsoleCall.sessionEnded
        }
    }

    private func upload<Body: AsyncSequence>(
        _ body: Body,
        in scope: ScopeID,
        _ calls: any WebCalls,
        limit: Int,
        onWait: () -> Void
    ) async throws -> ConsoleReply where Body.Element == Bytes {
        let (database, zone) = (try database(), try zone())
        let (type, field) = (try values.needed("type"), try values.needed("field"))
        let column = try await calls.columns(of: [type])[type]?[field]
        guard column == .one(.asset) || column == .list(.asset) else {
            throw WebError.badRequest(
                "field '\(field)' of type '\(type)' takes no files; name one of type ASSET or "
                    + "LIST<ASSET>"
            )
        }
        try await check(zone, of: database, calls)
        // The file is the whole body, whatever its type is.
        guard request.contentLength ?? 0 <= limit else {
            throw WebError.badRequest("the file has more than \(limit) bytes, the limit here")
        }
        var upload = try WebUpload(calls, database, zone: zone, limit: limit, contentType: "")
        let asset = try await upload.take(body, of: request, onWait: onWait)
        let links = links(scope, database)
        let value = links.json(asset, for: calls.user, in: zone, isUpload: true)
        return .json([.init("singleFile", value)])
    }

    /// Refuses a zone that is not there, before the file comes.
    private func check(
        _ zone: RecordZone.ID,
        of database: DatabaseScope,
        _ calls: any WebCalls
    ) async throws {
        let isDefault =
            zone.zoneName == Names.defaultZone
            && [Names.currentUser, calls.user].contains(zone.ownerName)
        if isDefault, database != .shared { return }
        let message = FetchZonesRequest(database: database, ids: [WireZoneID(zone)])
        let messages = try await calls.read(.zonesFetch, message.encoded())
        let results = try messages.flatMap { try FetchZonesResponse(wire: $0).results }
        guard let result = results.first else { throw WebContext.resultMissing }
        _ = try result.get()
    }

    /// The bytes of an asset, checked against its name.
    private static func content(
        _ answers: [DownloadAssetResponse],
        of digest: Bytes
    ) throws -> Bytes {
        let list = try ChunkList(checking: answers.first?.list ?? [])
        guard list.digest == digest else { throw WebContext.resultMissing }
        guard list.size <= mostBytes else {
            throw WebError(
                .quotaExceeded,
                "the console shows assets of at most \(mostBytes) bytes, and this one has "
                    + "\(list.size); fetch it with 'cumulus asset'"
            )
        }
        let codec = ChunkCodec()
        var plain: [Bytes: ArraySlice<UInt8>] = [:]
        for chunk in answers.flatMap(\.chunks) { plain[chunk.digest] = try chunk.plain(codec) }
        var content: Bytes = []
        content.reserveCapacity(Int(list.size))
        for entry in list.entries {
            guard let chunk = plain[entry.digest] else {
                throw WebError(.tryAgainLater, "the node has not all of the asset's chunks yet")
            }
            content += chunk
        }
        return content
    }

    /// The type of a picture, by its first bytes; nil for everything else, also for what browsers
    /// would run.
    static func picture(_ bytes: Bytes) -> String? {
        if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
            return "image/png"
        }
        if bytes.starts(with: [0xFF, 0xD8, 0xFF]) { return "image/jpeg" }
        if bytes.starts(with: Bytes("GIF8".utf8)) { return "image/gif" }
        let isWebP = bytes.dropFirst(8).starts(with: Bytes("WEBP".utf8))
        return isWebP && bytes.starts(with: Bytes("RIFF".utf8)) ? "image/webp" : nil
    }
}
