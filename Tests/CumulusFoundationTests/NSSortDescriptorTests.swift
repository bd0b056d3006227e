// Sort descriptors by key, and what a query makes of them.

import CumulusFoundation
import CumulusModel
import Foundation
import Testing

@Suite struct NSSortDescriptorTests {
    @Test func keysAndDirections() throws {
        let newest = NSSortDescriptor(key: "creationDate", ascending: false)
        #expect(newest.key == "creationDate")
        #expect(!newest.ascending)
        #expect(
            try newest.querySortDescriptor() == .init(key: "creationDate", ascending: false)
        )
        let reversed = try #require(newest.reversedSortDescriptor as? NSSortDescriptor)
        #expect(reversed == NSSortDescriptor(key: "creationDate", ascending: true))
        #expect(reversed != newest)
        #expect("\(newest)" == "(creationDate, descending)")
    }

    @Test func distances() throws {
        let place = CLLocation(latitude: 1, longitude: 2)
        let nearest = KeySortDescriptor(key: "place", origin: place)
        #expect(
            try nearest.querySortDescriptor()
                == .init(key: "place", relativeLocation: place.location)
        )
        #expect(nearest != NSSortDescriptor(key: "place", ascending: true))
    }

    @Test func whatHasNoKeyIsRefused() {
        let descriptors = [
            NSSortDescriptor(keyPath: \NSString.length, ascending: true),
            NSSortDescriptor(key: nil, ascending: true),
            NSSortDescriptor(key: "owner.name", ascending: true),
        ]
        for descriptor in descriptors {
            let error = #expect(throws: ServiceError.self) {
                try descriptor.querySortDescriptor()
            }
            #expect(error?.code == .invalidArguments)
        }
        #expect(descriptors[0].key == nil)
    }
}
