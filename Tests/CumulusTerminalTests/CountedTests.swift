// Counts as people read them.

import CumulusTerminal
import Testing

@Suite struct CountedTests {
    @Test func oneIsSingular() {
        #expect(counted(0, "record") == "0 records")
        #expect(counted(1, "record") == "1 record")
        #expect(counted(UInt64(2), "record") == "2 records")
        #expect(counted(1, "index", "indexes") == "1 index")
        #expect(counted(3, "index", "indexes") == "3 indexes")
    }
}
