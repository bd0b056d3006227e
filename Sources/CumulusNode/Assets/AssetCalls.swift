// The calls on assets: prepare, upload, download; and what peers ask of an asset.
//
// `MethodTable` lists them. `ChunkUpload` takes uploads. A download is a stream of pages like any
// list; the threads of the asset store read it.

import CumulusAssets
import CumulusModel
import CumulusOperations
import CumulusRequests
import CumulusStorage
import CumulusWire

enum AssetCalls {
    static let methods: [MethodEntry] = [
        .init(.assetsPrepare, .message, parse: preparation, begin: prepare),
        .init(
            .assetsUpload,
            .message,
            .credit,
            takesMessages: true,
            // The chunks behind it can't wait for a reader thread that parses it.
            admit: { try $0.refuseLargeMessage() },
            parse: decoded(UploadChunksRequest.init(wire:)),
            begin: upload
        ),
        .init(
            .assetsDownload,
            .parts,
            .credit,
            parse: decoded(DownloadAssetRequest.init(wire:)),
            begin: download
        ),
        .init(
            .peersAsset,
            .parts,
            [.peer, .credit],
            parse: decoded(PeerAssetRequest.init(wire:)),
            begin: sendToPeer
        ),
    ]

    // MARK: Prepare

    @Sendable private static func preparation(
        _ parser: RequestParser
    ) -> (Bytes) throws -> PrepareAssets {
        { bytes in
            let message = try PrepareAssetsRequest(wire: bytes)
            let request = PrepareAssets(
                database: try parser.database(message.database),
                zone: try message.zone.map(parser.zone),
                lists: message.lists.map(list),
                limits: parser.limits
            )
            try request.checkCount()
            return request
        }
    }

    private static func prepare(_ request: PrepareAssets, _ context: CallContext) throws {
        let parts = request.parts(of: chunksAtOnce)
        if parts.count > 1 {
            return prepare(parts[...], after: [], in: try context.scope(), context)
        }
        try context.change(request) { outcome in
            [PrepareAssetsResponse(outcome.map { $0.mapError(\.error) }).encoded()]
        }
    }

    private static func list(_ bytes: Bytes) -> Result<ChunkList, ServiceError> {
        do throws(MalformedBytes) {
            return .success(try ChunkList(checking: bytes))
        } catch {
            return .failure(ServiceError(.invalidArguments, .invalidValue, error.reason))
        }
    }

    /// Chunks that a job of the writer looks at, unless they are of one asset: others wait for it.
    private static let chunksAtOnce = 1_000

    /// Prepares one part after the other, so that others' changes come in between.
    private static func prepare(
        _ parts: ArraySlice<PrepareAssets>,
        after outcome: PrepareAssets.Outcome,
        in scope: ScopeID,
        _ context: CallContext
    ) {
        guard context.isInProgress else { return }
        guard let part = parts.first else {
            let results = outcome.map { $0.mapError(\.error) }
            return context.finish([PrepareAssetsResponse(results).encoded()])
        }
        let size = context.message.count
        let isQueued = context.queue(part, in: scope, context.token, byteCount: size) { answer in
            context.onLoop {
                switch answer {
                case .success(let results):
                    prepare(parts.dropFirst(), after: outcome + results, in: scope, context)
                case .failure(let error): context.fail(error)
                }
            }
        }
        if !isQueued { context.fail(.tooManyWrites) }
    }

    // MARK: Upload

    private static func upload(_ message: UploadChunksRequest, _ context: CallContext) throws {
        let kind = try context.parser.database(message.database)
        let id = try Authorisation.database(kind, for: context.caller)
        if let refusal = Authorisation.uploadRefusal(in: id, by: context.caller) { throw refusal }
        let window = max(context.limits.initialCredit, context.limits.uploadWindowBytes)
        let upload = ChunkUpload(
            context,
            database: kind,
            zone: try message.zone.map(context.parser.zone),
            scope: try context.scope(),
            credit: window
        )
        context.makeEndless()
        context.take(upload)
        context.sendCredit(window - context.limits.initialCredit)
        upload.begin(isEnd: context.call.isEnd)
    }

    // MARK: Download

    private static func download(
        _ message: DownloadAssetRequest,
        _ context: CallContext
    ) throws {
        let kind = try context.parser.database(message.database)
        let read = try context.parser.readAsset(message)
        let (offset, rest) = (message.offset, UInt64.max - message.offset)
        let length = message.length == 0 ? rest : min(message.length, rest)
        let (node, caller, mayUse) = (context.node, context.caller, context.mayUse)
        let isPlain = context.identity.wantsPlainChunks
        let began = node.environment.now()
        stream(try context.scope(), context) { number, reader in
            let found = try node.find(read, since: began) { read in
                try read.run(number, in: kind, by: caller, reader)
            }
            let skipped = Set(message.except)
            let range = found.list.chunks(holding: offset..<offset + length).chunks
            let wanted = AssetPages.distinct(range.map { $0 }, of: found.list, except: skipped)
            return AssetPages(
                node: node,
                found: found,
                asset: message.asset,
                chunks: message.onlyList ? [] : wanted,
                since: began,
                isPlain: isPlain
            ) { reader in
                if let refusal = mayUse(kind) { throw refusal }
                try read.askAgain(number, in: kind, by: caller, reader)
            }
        }
    }

    /// Sends a peer the chunks that it lacks.
    private static func sendToPeer(_ message: PeerAssetRequest, _ context: CallContext) throws {
        let id = DatabaseID(
            kind: try context.parser.database(message.database),
            owner: String(decoding: message.owner, as: UTF8.self)
        )
        let node = context.node
        stream(try context.scope(), context) { number, reader in
            let found = try node.find(ReadAsset(asset: message.asset), since: nil) { read in
                try read.find(number, in: id, reader)
            }
            let wanted = message.chunks.filter { found.list.entries.indices.contains($0) }
            return AssetPages(
                node: node,
                found: found,
                asset: message.asset,
                chunks: wanted,
                since: nil
            ) { _ in }
        }
    }

    private static func stream(
        _ scope: ScopeID,
        _ context: CallContext,
        _ open: @escaping @Sendable (ScopeNumber, ReadTransaction) throws -> AssetPages
    ) {
        let node = context.node
        context.makeEndless(patience: context.limits.stalledStateMilliseconds)
        context.assetPages {
            let reader = node.gate.latest(reach: .disk)
            guard let number = try reader.scope(scope) else {
                throw Containers.unknown(scope.container)
            }
            return try open(number, reader).first(reader)
        }
    }
}
