// The pages of `proto/` and `proto/*.proto` against the code: numbers, limits, examples, the worked
// exchange.

import CumulusModel
import CumulusRequests
import CumulusTesting
import CumulusWire
import Testing

@Suite struct ContractTests {
    /// The names and numbers of an enum in `connection.proto`.
    private static func numbers(of name: String) throws -> [String: UInt32] {
        let text = try Golden.text("connection.proto")
        let start = try #require(text.firstRange(of: "enum \(name) {")?.upperBound)
        let body = text[start...].prefix { $0 != "}" }
        return body.matches(of: /(\w+) = (\d+);/).reduce(into: [:]) { numbers, match in
            numbers[String(match.output.1)] = UInt32(match.output.2)
        }
    }

    /// `requestIDReused` as proto/ spells it: `REQUEST_ID_REUSED`.
    private static func constant(_ name: String) -> String {
        name.replacing(/([a-z])([A-Z])/) { "\($0.output.1)_\($0.output.2)" }
            .replacing(/([A-Z])([A-Z][a-z])/) { "\($0.output.1)_\($0.output.2)" }
            .uppercased()
    }

    @Test func enumsHaveTheNumbersOfTheContract() throws {
        var methods = ["METHOD_UNKNOWN": UInt32(0)]
        for method in Method.allCases {
            methods[Self.constant("\(method)")] = method.rawValue
        }
        #expect(try Self.numbers(of: "Method") == methods)
        var reasons: [String: UInt32] = [:]
        for reason in ServiceError.Reason.allCases {
            reasons[Self.constant("\(reason)")] = reason.rawValue
        }
        #expect(try Self.numbers(of: "Reason") == reasons)
        var environments = ["ENVIRONMENT_UNKNOWN": UInt32(0)]
        for value in Environment.allCases {
            environments[Self.constant(value.name)] = UInt32(value.rawValue)
        }
        #expect(try Self.numbers(of: "Environment") == environments)
        var databases = ["DATABASE_UNKNOWN": UInt32(0)]
        for value in DatabaseScope.allCases {
            databases[Self.constant(value.name)] = UInt32(value.rawValue)
        }
        #expect(try Self.numbers(of: "Database") == databases)
        let roles: [String: UInt32] = ["ROLE_UNKNOWN": 0, "CLIENT": 1, "PEER": 2, "OPERATOR": 3]
        #expect(try Self.numbers(of: "Role") == roles)
        #expect(WireRole.client.rawValue == 1)
        #expect(WireRole.peer.rawValue == 2)
        #expect(WireRole.operator.rawValue == 3)
    }

    @Test func kindsOfFieldsHaveTheNumbersOfTheContract() throws {
        let text = try Golden.text("records.proto")
        for kind in FieldKind.allCases {
            #expect(text.contains(" \(kind.name.lowercased()) = \(kind.rawValue);"), "\(kind)")
        }
    }

    @Test func thePagesKnowEveryMethodKindAndReason() throws {
        let pages = try Golden.contract()
        for method in Method.allCases {
            let name = Self.constant("\(method)")
            let row = pages.split(separator: "\n").first { line in
                line.hasPrefix("| \(method.rawValue) | `\(name)` | `")
            }
            // Number, name, request, answer, wants.
            #expect(row?.split(separator: "|").count == 5, "\(name)")
        }
        for kind: FrameKind in [
            .hello, .call, .message, .status, .cancel, .credit, .ping, .pong, .drain, .nonce,
        ] {
            let row = "| \(kind.rawValue) | \("\(kind)".uppercased()) |"
            let isThere = pages.contains(row)
            #expect(isThere, "\(row)")
        }
        for reason in ServiceError.Reason.allCases where reason != .none {
            let isThere = pages.contains(Self.constant("\(reason)"))
            #expect(isThere, "\(reason)")
        }
    }

    @Test func thePagesHaveTheDefaultLimits() throws {
        let pages = try Golden.contract()
        let limits = Limits.standard
        let caller = CallerLimits.standard
        let rows: [(String, Int, String)] = [
            ("items_per_request", limits.itemsPerRequest, "400"),
            ("request_bytes", limits.requestBytes >> 20, "2 MiB"),
            ("record_bytes", limits.recordBytes >> 20, "1 MiB"),
            ("name_bytes", limits.nameBytes, "255"),
            ("fields_per_type", limits.fieldsPerType, "256"),
            ("owners_per_record", limits.ownersPerRecord, "750"),
            ("owners_per_request", limits.ownersPerRequest / 1_000, "2,000"),
            ("zones_per_database", limits.zonesPerDatabase / 1_000, "1,000"),
            ("subscriptions_per_database", limits.subscriptionsPerDatabase / 1_000, "1,000"),
            ("frame_bytes", limits.frameBytes >> 20, "4 MiB"),
            ("streams_per_connection", limits.streamsPerConnection, "256"),
            ("unanswered_bytes", limits.unansweredBytes >> 20, "8 MiB"),
            ("initial_credit", limits.initialCredit >> 10, "64 KiB"),
            ("asset_bytes", limits.assetBytes >> 30, "1 GiB"),
            ("user_asset_bytes", limits.userAssetBytes >> 30, "100 GiB"),
            ("assets_per_request", limits.assetsPerRequest / 1_000, "1,000"),
            ("calls_per_second", caller.callsPerSecond / 1_000, "1,000"),
            ("calls_burst", caller.callsBurst / 1_000, "5,000"),
            ("bytes_per_second", caller.bytesPerSecond >> 20, "32 MiB"),
            ("calls_at_once", caller.callsAtOnce, "64"),
            ("request_memory_ms", Int(limits.requestMemoryMilliseconds / 3_600_000), "24 hours"),
        ]
        for (name, value, text) in rows {
            let isThere = pages.contains("| `\(name)` | \(text)")
            #expect(isThere, "\(name)")
            #expect(text.hasPrefix("\(value)"), "\(name)")
        }
        #expect(limits.greetingMilliseconds == 10_000)
        #expect(limits.greetingBytes == 64 << 10)
        #expect(limits.idleMilliseconds == 60_000)
        #expect(limits.frameMilliseconds == 30_000)
        #expect(limits.stalledWriteMilliseconds == 30_000)
        #expect(limits.crowdedWriteMilliseconds == 5_000)
        #expect(limits.callMilliseconds == 60_000)
        #expect(limits.longestCallMilliseconds == 3_600_000)
        #expect(limits.requestLeadMilliseconds == 600_000)
        #expect(limits.assetGraceMilliseconds == 24 * 3_600_000)
        #expect(limits.deviceBytes == 64)
        #expect(limits.subscriptionBytes == 16 << 10)
    }

    @Test func theExamplesOfThePagesAreGolden() throws {
        let blocks = try Golden.blocks("frame ")
        #expect(blocks.count >= 3)
        for (title, lines) in blocks {
            let bytes = Bytes(hex: lines.joined().filter { $0 != " " })
            #expect(bytes == (try Golden(title).bytes), "\(title)")
        }
    }

    /// A node's own test replays it; here it is read as frames.
    @Test func theWorkedExchangeConsistsOfFrames() throws {
        var client = FrameDecoder(frameLimit: 64 << 10)
        var server = FrameDecoder(frameLimit: 64 << 10)
        for part in try WorkedExchange().parts {
            // What varies may be a varint: all of its bytes but the last have the top bit.
            let bytes = part.bytes.indices.map { index in
                let isLast = index + 1 < part.bytes.count && part.bytes[index + 1] != nil
                return part.bytes[index] ?? (isLast ? 0x01 : 0x81)
            }
            if part.isFromClient { client.append(bytes) } else { server.append(bytes) }
        }
        let sent = try client.frames()
        let received = try server.frames()
        #expect(!client.isMidFrame && !server.isMidFrame)
        #expect(sent.map(\.kind) == [.hello, .call, .ping, .call])
        #expect(received.map(\.kind) == [.nonce, .hello, .message, .pong, .status])
        #expect(try Hello(wire: sent[0].payload).container == Bytes("iCloud.dev.cumulus".utf8))
        var limits = Limits.standard
        limits.perCaller = .standard
        #expect(try ServerHello(wire: received[1].payload).limits == limits)
        let (header, message) = try CallHeader.split(sent[1].payload)
        #expect(header.method == Method.recordsFetch.rawValue)
        #expect(try FetchRecordsRequest(wire: message).ids.count == 1)
        let result = try #require(FetchRecordsResponse(wire: received[2].payload).results.first)
        #expect(throws: ServiceError.self) { try result.get() }
        #expect(received[3].payload == sent[2].payload)
        #expect(try ServiceError(wire: received[4].payload).reason == .protocolError)
    }
}
