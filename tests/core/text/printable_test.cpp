// SPDX-License-Identifier: Apache-2.0
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "likewise/error.h"

namespace likewise {
namespace {

TEST(Printable, ShowsWhatCannotBeSeen) {
  EXPECT_EQ(printable("plain text, Zoë, 日本, 🎬"), "plain text, Zoë, 日本, 🎬");
  EXPECT_EQ(printable("\x1b[31mred\x07"), "\\x1b[31mred\\x07");
  EXPECT_EQ(printable("a\tb\r\nc\x7f"), "a\\x09b\\x0d\\x0ac\\x7f");
  EXPECT_EQ(printable("\xc2\x9b[31m"), "\\xc2\\x9b[31m");  // CSI in one character
  EXPECT_EQ(printable("abc\xe2\x80\xae"
                      "def"),
            "abc\\xe2\\x80\\xae"
            "def");  // from right to left
  EXPECT_EQ(printable("Caf\xe9"), "Caf\\xe9");
  for (const char* broken : {"\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\x80"}) {
    EXPECT_EQ(printable(broken).find_first_not_of("\\x0123456789abcdef"), std::string::npos);
  }
}

TEST(Printable, CutsLongTextAtACharacter) {
  EXPECT_EQ(printable(std::string(100, 'a')), std::string(60, 'a') + "...");
  EXPECT_EQ(printable("ééé", 3), "éé...");
  EXPECT_EQ(printable("ééé", 6), "ééé");
}

TEST(Printable, AMessageKeepsItsLines) {
  EXPECT_EQ(printable_message("two\nlines\x1b" + std::string(100, 'a')),
            "two\nlines\\x1b" + std::string(100, 'a'));
}

TEST(Printable, HoldsNoControlCharactersAndChangesOnce) {
  std::mt19937 random(5);
  for (int i = 0; i < 3000; ++i) {
    std::string text(random() % 20, '\0');
    for (char& c : text) c = static_cast<char>(random() % 256);
    const std::string shown = printable(text);
    for (const char c : shown) EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
    EXPECT_EQ(printable(shown, shown.size()), shown);
  }
}

}  // namespace
}  // namespace likewise
