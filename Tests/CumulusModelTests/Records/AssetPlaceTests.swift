// Where an asset was read: the field that a download of it names.

import CumulusModel
import Testing

@Suite struct AssetPlaceTests {
    private static let id = Record.ID(recordName: "r")
    private static let asset = Asset(digest: Array(repeating: 1, count: 32), size: 9)

    private func places(_ value: FieldValue?) -> [Asset.Place?] {
        switch value {
        case .asset(let asset): [asset.place]
        case .list(let elements): elements.flatMap { places($0) }
        default: []
        }
    }

    @Test func anAssetKnowsWhereItWasRead() {
        var record = Record(recordType: "Photo", recordID: Self.id)
        record.receive(.asset(Self.asset), for: "image")
        record.receive(.list([.asset(Self.asset), .asset(Self.asset)]), for: "images")
        for (key, count) in [("image", 1), ("images", 2)] {
            let places = places(record[key])
            #expect(places.count == count)
            for place in places { #expect(place?.recordID == Self.id && place?.key == key) }
        }
        #expect(record["image"] == .asset(Self.asset))
    }

    /// Until it is saved, a copy is read where it came from.
    @Test func aCopyKeepsItsPlaceUntilItIsSaved() {
        var record = Record(recordType: "Photo", recordID: Self.id)
        record.receive(.asset(Self.asset), for: "image")
        let other = Record.ID(recordName: "other")
        var copy = Record(recordType: "Photo", recordID: other)
        copy["mine"] = record["image"]
        copy["new"] = .asset(Self.asset)
        #expect(places(copy["mine"]).first??.recordID == Self.id)
        #expect(places(copy["new"]).first??.key == nil)
        copy.markSaved()
        #expect(places(copy["mine"]).first??.recordID == other)
        #expect(places(copy["mine"]).first??.key == "mine")
        #expect(places(copy["new"]).first??.key == "new")
    }
}
