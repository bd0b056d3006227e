// The link of a connection whose loop is the test: work is done at once, and turns end when the
// test says so.

import CumulusModel
import CumulusWire

@testable import CumulusNode

final class InPlaceLink: FrameLink {
    let loop: any FrameLoop = InPlaceLoop.shared
    let isLoopback = true
    let remoteAddress: Bytes = []
    let certificate: Bytes = []

    func needsTurn() {}
}
