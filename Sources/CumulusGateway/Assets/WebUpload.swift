// One upload, from the first bytes of a file to the asset that it became.
//
// `WebTransfers` runs it, and `ConsoleCall` does for the console's form. The bytes are cut,
// announced to the node and sent to it part by part. The next part is read when the previous one is
// on the node's disk. Each part of a large file is announced as an asset of its own, which no
// record names and the node removes a day later; its chunks then belong to the whole file.

import CumulusAssets
import CumulusModel
import CumulusWire

struct WebUpload {
    private let calls: WebAssetCalls
    private let limit: Int
    private var form: MultipartBody?
    private var cutter = UploadCutter()
    /// Parts that were sent.
    private var sent = 0

    init(
        _ calls: any WebCalls,
        _ database: DatabaseScope,
        zone: RecordZone.ID?,
        limit: Int,
        contentType: String
    ) throws(WebError) {
        self.calls = WebAssetCalls(calls, database, zone)
        self.limit = limit
        form = try MultipartBody(contentType: contentType)
    }

    /// Takes a whole body; refuses it if its request says another length.
    ///
    /// - Parameters:
    ///   - body: The body, in pieces.
    ///   - onWait: Told when the file's first bytes are waited for, and again when a part of it
    ///     is on the node's disk, and more is to come.
    mutating func take<Body: AsyncSequence>(
        _ body: Body,
        of request: WebRequest,
        onWait: () -> Void
    ) async throws -> Asset where Body.Element == Bytes {
        onWait()
        var pieces = body.makeAsyncIterator()
        var byteCount = 0
        while let bytes = try await WebUpload.next(of: &pieces) {
            byteCount += bytes.count
            let isPartSent = try await take(bytes)
            if isPartSent { onWait() }
        }
        let length = request.contentLength ?? byteCount
        guard byteCount == length else {
            throw WebError.badRequest(
                "the body ended early, with \(byteCount) of \(length) bytes; upload the file again"
            )
        }
        return try await end()
    }

    private static func next<Pieces: AsyncIteratorProtocol>(
        of pieces: inout Pieces
    ) async throws(WebError) -> Bytes? where Pieces.Element == Bytes {
        do {
            return try await pieces.next(isolation: #isolation)
        } catch let error as WebError {
            throw error
        } catch {
            throw .badRequest("the body ended early: \(error)")
        }
    }

    /// Takes the next bytes of the body; returns true when it sent a part.
    private mutating func take(_ bytes: Bytes) async throws -> Bool {
        cutter.take(try form?.take(bytes) ?? bytes)
        guard cutter.byteCount <= limit else {
            throw WebError.badRequest(
                "the file has more than \(limit) bytes, which is the limit for web services"
            )
        }
        guard cutter.isPartFull else { return false }
        try await send(cutter.takePart())
        return true
    }

    /// Nothing more comes.
    private mutating func end() async throws -> Asset {
        try form?.checkEnd()
        cutter.end()
        let part = cutter.takePart()
        if sent == 0 || !part.isEmpty { try await send(part) }
        if sent > 1 {
            guard try await calls.missing(of: cutter.list).isEmpty else {
                throw WebUpload.incomplete
            }
        }
        return Asset(digest: cutter.list.digest, size: cutter.list.size)
    }

    private static let incomplete: WebError = {
        var error = WebError(.tryAgainLater, "the node lost parts of the file; upload it again")
        error.retryAfter = 1
        return error
    }()

    // MARK: To the node

    private mutating func send(_ part: UploadCutter.Part) async throws {
        sent += 1
        let missing = try await calls.missing(of: part.list)
        if missing.isEmpty { return }
        try await calls.upload(part.messages(of: missing))
    }
}

/// The calls that bring an asset to the node.
struct WebAssetCalls {
    private let calls: any WebCalls
    private let database: DatabaseScope
    private let zone: WireZoneID?

    init(_ calls: any WebCalls, _ database: DatabaseScope, _ zone: RecordZone.ID?) {
        self.calls = calls
        self.database = database
        // Other databases need none, and have one owner.
        self.zone = database == .shared ? zone.map { WireZoneID($0) } : nil
    }

    /// Sends chunks; returns when they are on the node's disk.
    func upload(_ messages: [Bytes]) async throws(ServiceError) {
        let request = UploadChunksRequest(database: database, zone: zone)
        _ = try await calls.upload(.assetsUpload, request.encoded(), messages)
    }

    /// Announces an asset; returns the indexes of the chunks that the node lacks.
    func missing(of list: ChunkList) async throws -> [Int] {
        let request = PrepareAssetsRequest(database: database, lists: [list.bytes], zone: zone)
        let messages = try await calls.read(.assetsPrepare, request.encoded())
        let results = try messages.flatMap { try PrepareAssetsResponse(wire: $0).results }
        guard let first = results.first else { throw WebContext.resultMissing }
        return try first.get()
    }
}
