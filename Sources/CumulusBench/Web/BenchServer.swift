// A server with a key, which calls at both doors: its records, and its requests over HTTP.
//
// Opened once, after a target that serves HTTP: it registers the key and saves the records.

import AsyncHTTPClient
import Crypto
import Cumulus
import CumulusModel
import Foundation
import NIOCore
import NIOHTTP1
import Synchronization

struct BenchServer: Sendable {
    /// The token of web apps; any text that is long enough.
    static let apiToken = "cumulus-bench-web-app"

    /// The address of HTTP.
    let web: String
    /// The container at the binary door, with the key.
    let container: Container
    /// Records in the public database, which all may read.
    let records: BenchRecords
    private let keyID: String
    private let key: P256.Signing.PrivateKey
    private let date = RequestDate()
    private let turn = RecordTurn()

    static func open(_ target: BenchTarget, _ options: BenchOptions) async throws -> BenchServer {
        guard let web = target.webEndpoint else {
            throw BenchProblem(message: "the node serves no HTTP")
        }
        let pem = ServiceKey.makePEM()
        let id = try await target.operate { node in
            try await node.addKey(
                ServiceKey.publicKey(ofPEM: pem),
                label: "bench",
                expires: nil,
                in: BenchNode.container,
                .development
            ).key.id
        }
        let server = try BenchServer(target, options, web: web, keyID: id, pem: pem)
        let database = server.container.publicCloudDatabase
        try await target.fill(server.records, in: database, options)
        return server
    }

    private init(
        _ target: BenchTarget,
        _ options: BenchOptions,
        web: String,
        keyID: String,
        pem: String
    ) throws {
        var configuration = Container.Configuration(endpoints: [target.endpoint])
        configuration.serviceKey = try ServiceKey(id: keyID, pem: pem)
        configuration.connections = options.connections
        container = Container(identifier: BenchNode.container, configuration: configuration)
        records = BenchRecords(count: options.records, in: .default, type: "Post")
        key = try P256.Signing.PrivateKey(pemRepresentation: pem)
        self.web = web
        self.keyID = keyID
    }

    /// A record to be saved whole; those in flight are different ones.
    ///
    /// A save over HTTP that another one was ahead of is planned again, and refused in the end.
    func nextRecord(_ dice: inout SeededGenerator) -> Record {
        records.record(records.ids[turn.next(of: records.ids.count)], &dice)
    }

    /// The file of `--web-apps` for a node that is to be loaded over HTTP.
    static var apps: JSON {
        let app: JSON = [
            "container": .string(BenchNode.container), "environment": "development",
            "token": .string(apiToken),
        ]
        return .array([app])
    }

    // MARK: Requests

    private static let path = "/database/1/\(BenchNode.container)/development/public/records/"

    /// Shows an API token, as a web app does.
    func lookup(_ id: Record.ID) -> HTTPClientRequest {
        let record: JSON = ["recordName": .string(id.recordName)]
        let body: JSON = ["records": .array([record])]
        let target = "\(BenchServer.path)lookup?ckAPIToken=\(BenchServer.apiToken)"
        return request(target, body.text)
    }

    /// Replaces a whole record, whatever is there; signed.
    func modify(_ record: Record) throws -> HTTPClientRequest {
        let body = try BenchServer.modification(record).text
        let target = BenchServer.path + "modify"
        let digest = Data(SHA256.hash(data: Data(body.utf8))).base64EncodedString()
        let date = date.text
        let signature = try key.signature(for: Data("\(date):\(digest):\(target)".utf8))
        let name = "X-Apple-CloudKit-Request-"
        return request(
            target,
            body,
            [
                ("\(name)KeyID", keyID), ("\(name)ISO8601Date", date),
                ("\(name)SignatureV1", signature.derRepresentation.base64EncodedString()),
            ]
        )
    }

    private func request(
        _ target: String,
        _ body: String,
        _ headers: [(String, String)] = []
    ) -> HTTPClientRequest {
        var request = HTTPClientRequest(url: "http://\(web)\(target)")
        request.method = .POST
        request.headers = HTTPHeaders([("Content-Type", "application/json")] + headers)
        request.body = .bytes(ByteBuffer(string: body))
        return request
    }

    static func modification(_ record: Record) throws -> JSON {
        let fields = try record.allKeys().compactMap { key in
            try record[key].map { JSON.Member(key, ["value": try value($0)]) }
        }
        let content: JSON = [
            "recordName": .string(record.recordID.recordName),
            "recordType": .string(record.recordType), "fields": .object(fields),
        ]
        let operation: JSON = ["operationType": "forceReplace", "record": content]
        return ["operations": .array([operation])]
    }

    /// Types are the ones of the schema.
    private static func value(_ value: FieldValue) throws -> JSON {
        switch value {
        case .string(let text): return .string(text)
        case .int64(let number): return .integer(number)
        case .double(let number): return .decimal(number)
        case .timestamp(let moment): return .integer(moment.millisecondsSince1970)
        case .location(let place):
            return ["latitude": .decimal(place.latitude), "longitude": .decimal(place.longitude)]
        case .list(let elements): return .array(try elements.map(self.value))
        case .bytes, .reference, .asset:
            throw BenchProblem(message: "records of the bench hold no bytes, references and assets")
        }
    }
}

/// The date of signatures, made anew each minute: a node takes one that is ten minutes old.
private final class RequestDate: Sendable {
    private let current = Mutex((minute: -1, text: ""))

    var text: String {
        let now = Date()
        let minute = Int(now.timeIntervalSince1970 / 60)
        return current.withLock { current in
            if current.minute != minute { current = (minute, now.formatted(.iso8601)) }
            return current.text
        }
    }
}

/// The turn of the records.
private final class RecordTurn: Sendable {
    private let count = Atomic(0)

    func next(of all: Int) -> Int { count.wrappingAdd(1, ordering: .relaxed).oldValue % all }
}
