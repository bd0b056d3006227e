// What reflection tells: every service and message of the files that callers need.

import CumulusDescriptors
import CumulusModel
import CumulusTesting
import CumulusWire
import Foundation
import GRPCCore
import Testing

@testable import CumulusGRPC

@Suite struct GRPCReflectionTests {
    private static let reflection = Result {
        GRPCReflection(descriptors: try Descriptors(DescriptorFile.all))
    }

    /// A field of a message as its bytes; the one with a length.
    private func field(_ number: UInt8, _ text: String) -> Bytes {
        [number << 3 | 2, UInt8(text.utf8.count)] + Bytes(text.utf8)
    }

    @Test func everyServiceIsDescribed() throws {
        let descriptors = try Self.reflection.get().descriptors
        let served = GRPCMethod.services.map { "cumulus.v1.\($0.value)" }
        let others = GRPCReflection.services + [GRPCHealth.service]
        #expect(descriptors.services == (served + others).sorted())
        for symbol in ["\(GRPCHealth.service).Check", "\(GRPCReflection.services[1])"] {
            #expect(descriptors.file(defining: symbol)?.count == 1, "\(symbol)")
        }
        for method in GRPCMethod.all {
            let symbol = "\(method.descriptor.service).\(method.descriptor.method)"
            let files = try #require(descriptors.file(defining: symbol), "\(symbol)")
            // A file stands behind all that it needs.
            #expect(files.count > 10)
        }
    }

    @Test func everyMessageOfTheServicesIsDescribed() throws {
        let descriptors = try Self.reflection.get().descriptors
        let rpc = /rpc \w+\((?:stream )?(\w+)\) returns \((?:stream )?(\w+)\)/
        for match in try Golden.text("services.proto").matches(of: rpc) {
            for name in [match.output.1, match.output.2] {
                #expect(descriptors.file(defining: "cumulus.v1.\(name)") != nil, "\(name)")
            }
        }
        #expect(descriptors.file(defining: "cumulus.v1.RecordNews.Reason") != nil)
        #expect(descriptors.file(defining: "cumulus.v1.Nothing") == nil)
        // What nodes say to each other is nobody else's.
        #expect(descriptors.file(named: "peers.proto") == nil)
        #expect(descriptors.file(named: "log.proto") == nil)
    }

    @Test func questions() throws {
        let reflection = try Self.reflection.get()
        let list = try reflection.answer(field(1, "host") + field(7, ""))
        #expect(list.contains(Bytes("cumulus.v1.Records".utf8)))
        #expect(list.contains(Bytes("grpc.health.v1.Health".utf8)))
        #expect(list.starts(with: field(1, "host")))
        let file = try reflection.answer(field(3, "records.proto"))
        #expect(file.contains(Bytes("FetchRecordsRequest".utf8)))
        let symbol = try reflection.answer(field(4, "cumulus.v1.Zone"))
        #expect(symbol.contains(Bytes("zones.proto".utf8)))
        for unknown in [field(3, "x"), field(4, "x"), field(5, ""), field(6, "x"), []] {
            let answer = try reflection.answer(unknown)
            // `error_response` with the code of NOT_FOUND.
            #expect(answer.contains([8, 5]), "\(unknown)")
        }
        #expect(throws: (any Error).self) { try reflection.answer([0x3A]) }
    }

    /// `cluster/proto --check` compares them whole, where protoc is.
    @Test func theDescriptorsAreOfTheseFiles() throws {
        let text = try Golden.text("services.proto")
        let stated = Set(text.matches(of: /rpc (\w+)\(/).map { String($0.output.1) })
        for name in stated {
            #expect(DescriptorFile.all.contains(Bytes(name.utf8)), "\(name): cluster/proto")
        }
    }
}
