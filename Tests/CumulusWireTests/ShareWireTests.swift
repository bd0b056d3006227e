// What a share says of itself: as the node writes it and the client reads it, and the other way.

import CumulusModel
import CumulusRequests
import CumulusTesting
import CumulusWire
import Testing

@Suite struct ShareWireTests {
    private static let zone = RecordZone.ID(zoneName: "Trips", ownerName: "_u1")
    private static let share = Record.ID(recordName: "share", zoneID: zone)
    private static let oslo = Record.ID(recordName: "oslo", zoneID: zone)
    private static let url = "https://example.org/share/AQIDBAUGBwgJCgsMDQ4PEA"
    private static let tag = Bytes(1...8)

    private static func fields(_ name: String, _ value: FieldValue) -> Bytes {
        var writer = CanonicalWriter()
        writer.message(10) { field in
            field.field(1, text: name)
            value.encode(to: &field)
        }
        return writer.bytes
    }

    private static func view(_ name: String, _ type: String, by modifier: String) -> RecordView {
        RecordView(
            name: name,
            type: type,
            changeTag: tag,
            created: WireSamples.created,
            createdBy: "_u1",
            modified: WireSamples.created + 1_500,
            modifiedBy: modifier
        )
    }

    /// The bytes of `Record-share.hex`, as the node makes them.
    private static let encodedShare: Bytes = {
        var view = Self.view("share", "cloudkit.share", by: "_u1")
        view.fields = fields("cloudkit.title", "Oslo")
        let added = WireSamples.created + 1_500
        let details = ShareDetails(
            root: "oslo",
            participants: [
                ShareDetails.Participant(
                    id: [2] + Bytes(1...16),
                    user: "_u2",
                    handle: .init(kind: 1, text: "ada@example.org"),
                    role: .administrator,
                    permission: .readWrite,
                    status: .accepted,
                    added: added,
                    isCaller: true
                ),
                ShareDetails.Participant(
                    id: [3] + Bytes(2...17),
                    handle: .init(kind: 2, text: "+4930123456"),
                    added: added
                ),
            ],
            owner: "_u1"
        )
        view.sharing = RecordView.Sharing(share: [], details: details)
        return view.encoded(as: WireRecordID(share), url: url)
    }()

    private static let encodedRoot: Bytes = {
        var view = Self.view("oslo", "City", by: "_u2")
        view.share = "share"
        view.fields = fields("name", "Oslo")
        return view.encoded(as: WireRecordID(oslo))
    }()

    @Test func theNodeWritesAShareAsTheFileSays() throws {
        #expect(Self.encodedShare.hex == (try Golden("Record-share").bytes.hex))
        var answer = ShareMetadataResponse()
        answer.metadata.share = .encoded(Self.encodedShare)
        answer.metadata.rootRecord = .encoded(Self.encodedRoot)
        answer.metadata.role = .administrator
        answer.metadata.permission = .readWrite
        answer.metadata.status = .accepted
        #expect(answer.encoded().hex == (try Golden("ShareMetadataResponse").bytes.hex))
    }

    @Test func theClientReadsAllOfAShare() throws {
        let metadata = try WireShareMetadata(wire: Golden("ShareMetadataResponse").bytes)
        #expect(metadata.role == .administrator && metadata.permission == .readWrite)
        #expect(metadata.status == .accepted)
        #expect(metadata.rootRecord?.recordID == Self.oslo)
        #expect(metadata.rootRecord?.share == Record.Reference(recordName: "share"))
        #expect(metadata.rootRecord?.shareDetails == nil)
        #expect(metadata.share.recordID == Self.share)
        #expect(metadata.share["cloudkit.title"] == "Oslo")
        let details = try #require(metadata.share.shareDetails)
        #expect(details.root == "oslo" && details.publicPermission == .none)
        #expect(details.owner == "_u1" && details.url == Self.url)
        let added = WireSamples.created + 1_500
        #expect(
            details.participants == [
                ShareDetails.Participant(
                    id: [2] + Bytes(1...16),
                    user: "_u2",
                    handle: .init(kind: 1, text: "ada@example.org"),
                    role: .administrator,
                    permission: .readWrite,
                    status: .accepted,
                    added: added,
                    isCaller: true
                ),
                ShareDetails.Participant(
                    id: [3] + Bytes(2...17),
                    handle: .init(kind: 2, text: "+4930123456"),
                    added: added
                ),
            ]
        )
    }

    @Test func aZoneShareHasNoRoot() throws {
        let metadata = try WireShareMetadata(wire: Golden("AcceptShareResponse").bytes)
        #expect(metadata.role == .publicUser && metadata.permission == .readOnly)
        #expect(metadata.rootRecord == nil)
        let details = try #require(metadata.share.shareDetails)
        #expect(details.root.isEmpty && details.publicPermission == .readOnly)
        #expect(details.participants.map(\.isCaller) == [true])
        #expect(details.participants.map(\.handle) == [nil])
    }

    @Test func aSaveNamesTheParticipantsAsTheyShouldBe() throws {
        let zone = RecordZone.ID(zoneName: "Trips")
        var share = Record(
            recordType: "cloudkit.share",
            recordID: Record.ID(recordName: "share", zoneID: zone)
        )
        share["cloudkit.title"] = "Oslo"
        var ada = ShareDetails.Participant(
            id: [2] + Bytes(1...16),
            user: "_u2",
            handle: .init(kind: 1, text: "ada@example.org"),
            role: .administrator,
            permission: .readWrite,
            status: .accepted
        )
        ada.added = WireSamples.created + 1_500
        share.shareDetails = ShareDetails(
            root: "oslo",
            participants: [ada, ShareDetails.Participant(user: "_u3")]
        )
        var root = Record(
            recordType: "City",
            recordID: Record.ID(recordName: "oslo", zoneID: zone)
        )
        root.recordChangeTag = Self.tag.hex
        let golden = try Golden("ModifyRecordsRequest-share").bytes
        let encoded = ModifyRecordsRequest(
            database: .private,
            policy: 0,
            isAtomic: true,
            saves: [share, root].map { $0.encodedSave(allKeys: false) },
            deletes: []
        ).encoded()
        #expect(encoded.hex == golden.hex)

        let request = try NodeModifyRecordsRequest(wire: golden)
        #expect(request.saves.map { $0.record.share == nil } == [false, true])
        let parts = try #require(request.saves.first?.record.share)
        #expect(parts.root == Bytes("oslo".utf8) && parts.publicPermission == 0)
        #expect(parts.participants.map(\.id) == [[2] + Bytes(1...16), []])
        #expect(parts.participants.map(\.user) == [Bytes("_u2".utf8), Bytes("_u3".utf8)])
        let handle = WireHandle(kind: 1, value: Bytes("ada@example.org".utf8))
        #expect(parts.participants.map(\.handle) == [handle, nil])
        #expect(parts.participants.map(\.role) == [2, 1])
        #expect(parts.participants.map(\.permission) == [2, 1])
    }

    @Test func whatThisReleaseDoesNotKnowAllowsNothing() throws {
        var writer = CanonicalWriter()
        writer.message(1) { writer in
            writer.message(1) { record in
                record.message(1) { $0.field(1, text: "share") }
                record.message(11) { parts in
                    parts.field(2, varint: 9)
                    parts.message(3) { participant in
                        for field in 4...6 { participant.field(field, varint: 300) }
                    }
                }
            }
            for field in 3...5 { writer.field(field, varint: 77) }
        }
        let metadata = try WireShareMetadata(wire: writer.bytes)
        #expect(metadata.role == .publicUser && metadata.permission == .none)
        #expect(metadata.status == .unknown)
        let details = try #require(metadata.share.shareDetails)
        #expect(details.publicPermission == .none)
        let participant = try #require(details.participants.first)
        #expect(participant.role == .publicUser && participant.permission == .none)
        #expect(participant.status == .unknown)
        #expect(throws: MalformedMessage.self) { try WireShareMetadata(wire: []) }
    }

    @Test func uploadsForTheZoneOfAnotherUser() throws {
        let prepare = try PrepareAssetsRequest(wire: Golden("PrepareAssetsRequest-shared").bytes)
        #expect(prepare.zone == WireZoneID(Self.zone))
        let upload = try UploadChunksRequest(wire: Golden("UploadChunksRequest-shared").bytes)
        #expect(upload.zone == WireZoneID(Self.zone))
        let own = try PrepareAssetsRequest(wire: Golden("PrepareAssetsRequest").bytes)
        #expect(own.zone == nil)
    }
}
