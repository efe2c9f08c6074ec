# ===- folder_families.py - All families that hova describes ---------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Those of all tests of folders, small: what is done with each of them is written once."""

import test_clip_folders
import test_decoder_folders
import test_folders
import test_sound_folders
import test_text_folders
import vision_families
from saved_folders import known

MODULES = [test_folders, test_text_folders, test_decoder_folders, vision_families, test_clip_folders, test_sound_folders]
FAMILIES = known(family for module in MODULES for family in module.FAMILIES)
