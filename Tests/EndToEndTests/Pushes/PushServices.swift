// Stand-ins for push services in a process of their own, `Tests/PushServices/services.py`, with the
// keys and the file by which nodes push to them.
//
// They speak HTTP/2 over TLS, and check what they are sent with libraries that know nothing of this
// project. `PushPython` has them; without them the tests are skipped, but not where `cluster/chaos`
// asks for them.

import Crypto
import CumulusModel
import CumulusTesting
import Foundation
import Synchronization
import Testing

final class PushServices: Sendable {
    struct Arrival: Sendable {
        var service: String
        var device: String
        /// 0: it was never answered.
        var status: Int64
        /// What the service found wrong.
        var problems: [String]
        var payload: JSON?
        var time: ContinuousClock.Instant

        /// Whether it stands for more than it tells.
        var standsForMore: Bool { payload?["ck"]?["p"] == .integer(1) }

        /// The record that it tells of.
        var record: String {
            guard case .string(let name)? = payload?["ck"]?["qry"]?["rid"] else { return "" }
            return name
        }
    }

    static let skipped: Comment = "no Python with h2, jwt and cryptography: see PushPython"
    /// Whether tests are to run, and fail without a Python where they were asked for.
    static let isPossible = PushPython.path != nil || Chaos.isAsked

    private let folder: String
    private let process = Process()
    private let orders = Pipe()
    private let state = Mutex(State())

    private struct State {
        var arrivals: [Arrival] = []
        var port: Int?
        var opener = ""
        var rest = Data()
    }

    /// - Parameter folder: For keys and files; it exists.
    init(in folder: String) async throws {
        self.folder = folder
        try makeKeys()
        let output = Pipe()
        let python = try #require(PushPython.path, Self.skipped)
        process.executableURL = URL(filePath: python)
        process.arguments = [Checkout.file("Tests/PushServices/services.py").path(), folder]
        process.standardInput = orders
        process.standardOutput = output
        output.fileHandleForReading.readabilityHandler = { [weak self] handle in
            let data = handle.availableData
            if data.isEmpty { handle.readabilityHandler = nil }
            self?.take(data)
        }
        try process.run()
        for _ in 0..<2_000 where port == nil { try await Task.sleep(for: .milliseconds(5)) }
        try writeFile(try #require(port))
    }

    private var port: Int? { state.withLock(\.port) }

    /// What opens the content of Web Push: "http_ece", or "own" for the stand-in's own lines.
    var opener: String { state.withLock(\.opener) }

    var arrivals: [Arrival] { state.withLock(\.arrivals) }

    func taken(by service: PushService) -> [Arrival] {
        arrivals.filter { $0.service == service.name && $0.status == 200 }
    }

    /// The file for `cumulusd --pushes`.
    var file: String { "\(folder)/pushes.json" }

    func stop() {
        // A process that a worker thread began may have SIGTERM blocked.
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    /// Answers the next requests to a service with a status, "hang", or "since": the device is gone
    /// since yesterday.
    func answer(_ service: PushService, _ status: String, count: Int = 1, seconds: Int? = nil) {
        let wish = seconds.map { " \($0)" } ?? ""
        orders.fileHandleForWriting.write(
            Data("\(service.name) \(status) \(count)\(wish)\n".utf8)
        )
    }

    // MARK: Addresses

    private static let browserKey = P256.KeyAgreement.PrivateKey()
    private static let browserSecret = Bytes(repeating: 9, count: 16)

    func address(_ service: PushService, _ number: Int) throws -> PushAddress {
        switch service {
        case .apns:
            .apns(
                deviceToken: Bytes(repeating: UInt8(number), count: 32),
                topic: "com.example.notes"
            )
        case .webPush:
            .webPush(
                endpoint: "https://127.0.0.1:\(try #require(port))/browser/\(number)",
                publicKey: Bytes(Self.browserKey.publicKey.x963Representation),
                secret: Self.browserSecret
            )
        case .fcm: .fcm(token: "device-\(number)")
        }
    }

    // MARK: What it says

    private func take(_ data: Data) {
        let now = ContinuousClock.now
        state.withLock { state in
            state.rest.append(data)
            while let end = state.rest.firstIndex(of: 0x0A) {
                let line = Bytes(state.rest[..<end])
                state.rest = Data(state.rest[(end + 1)...])
                let text = String(decoding: line, as: UTF8.self)
                let words = text.split(separator: " ")
                if words.first == "ready", words.count == 3 {
                    (state.port, state.opener) = (Int(words[1]), String(words[2]))
                } else if let json = try? JSONReader.read(line), let arrival = Arrival(json, now) {
                    state.arrivals.append(arrival)
                }
            }
        }
    }

    // MARK: Files

    private func makeKeys() throws {
        let curve = "-algorithm EC -pkeyopt ec_paramgen_curve:P-256"
        try Self.run([
            "/bin/sh", "-ec",
            """
            cd "$0"
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 \
                -keyout key.pem -out cert.pem -subj /CN=127.0.0.1 \
                -addext subjectAltName=IP:127.0.0.1
            openssl genpkey \(curve) -out provider.key
            openssl pkey -in provider.key -pubout -out provider.pem
            openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out account.key
            openssl pkey -in account.key -pubout -out account.pem
            """,
            folder,
        ])
        let browser: JSON = [
            "key": .string(Base64URL.encode(Self.browserKey.rawRepresentation)),
            "auth": .string(Base64URL.encode(Self.browserSecret)),
        ]
        try write(browser, "browser.json")
    }

    private func writeFile(_ port: Int) throws {
        let url = "https://127.0.0.1:\(port)"
        let key = try String(contentsOfFile: "\(folder)/account.key", encoding: .utf8)
        try write(
            [
                "project_id": "notes-1234", "client_email": "push@notes-1234.example.com",
                "private_key_id": "k1", "private_key": .string(key),
                "token_uri": .string("\(url)/token"),
            ],
            "account.json"
        )
        let services: [JSON] = [
            [
                "service": "apns", "keyFile": "provider.key", "keyID": "ABC123DEFG",
                "teamID": "DEF123GHIJ", "topics": .array(["com.example.notes"]),
                "url": .string(url), "authority": "cert.pem",
            ],
            [
                "service": "web-push", "keyFile": "provider.key",
                "subject": "mailto:push@example.com", "authority": "cert.pem",
                "hosts": .array([.string("127.0.0.1:\(port)")]),
            ],
            [
                "service": "fcm", "keyFile": "account.json", "url": .string(url),
                "authority": "cert.pem",
            ],
        ]
        try write(.array(services), "pushes.json")
    }

    private func write(_ json: JSON, _ name: String) throws {
        try Data(json.text.utf8).write(to: URL(filePath: "\(folder)/\(name)"))
    }

    @discardableResult
    private static func run(_ words: [String]) throws -> String {
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(filePath: words[0])
        process.arguments = Array(words.dropFirst())
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        let text = String(decoding: data, as: UTF8.self)
        guard process.terminationStatus == 0 else { throw NodeProcess.Failure(text) }
        return text
    }
}

extension PushServices.Arrival {
    fileprivate init?(_ json: JSON, _ time: ContinuousClock.Instant) {
        guard case .string(let service)? = json["service"],
            case .string(let device)? = json["device"], case .integer(let status)? = json["status"],
            case .array(let problems)? = json["problems"]
        else { return nil }
        self.init(
            service: service,
            device: device,
            status: status,
            problems: problems.map(\.text),
            payload: json["payload"],
            time: time
        )
    }
}
