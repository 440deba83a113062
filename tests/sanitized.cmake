# SPDX-License-Identifier: Apache-2.0
# The unit tests of a sanitizer build.
# Left out under both sanitizers: what shows how exact or how good results are, on more of the same loops. One
# instance of each form stays; the release build runs all.
set(LAUNCHER)
set(left_out
  # 1, 2 and 5 ranks; 3 stay, of whole trainings with the rows that are needed
  Cpu/Ranked*Of1 Cpu/Ranked*Of2 Cpu/Ranked*Of5 Cpu/RankedKnn.*/0 Cpu/RankedKnn.*/1 Cpu/RankedKnn.*/3
  Cpu/RankedAls*.TrainsAs*/Sums* Cpu/RankedAls*.TrainsAs*/Replicate*
  Cpu/RankedAls*.Validation*/Sums* Cpu/RankedAls*.Validation*/Replicate* Cpu/RankedAls*.LongRows*/Sums*
  Cpu/RankedAls*.LongRows*/Replicate* Cpu/RankedAls*.AHalfStep*/Replicate* Cpu/RankedAls*.WideRows/Sums*
  # how near ALS comes to exact rows, and more comparisons of each width with itself
  *AlsAuto.* *AlsTraining.EveryIterationKeepsTheExactObjective/* *AlsOnDevice.ObjectiveNeverRises/*widths *AlsOnDevice.RunsAreTheSame*/*widths
  *AlsOnDevice.GradientVanishes*/*widths *AlsOnDevice.LongRows*/explicit *AlsOnDevice.LongRows*/given *AlsOnDevice.LongRows*/likes *AlsOnDevice.LongRows*/implicit
  # resumed by each solver; the automatic choice takes both
  *AlsTraining.GoesOnFromACheckpoint*/cholesky *AlsTraining.GoesOnFromACheckpoint*/cg
  *EaseOnDevice.RunsAreTheSame*/1 *EaseOnDevice.RunsAreTheSame*/2 *EaseOnDevice.RunsAreTheSame*/3 *EaseOnDevice.RunsAreTheSame*/4
  # similarities that differ in a formula alone; cosine, on awkward matrices Pearson, the conditional one and walks too, stay, with few long rows
  # Pearson and walks
  *OnFullMatrices/adjusted_cosine *OnFullMatrices/pearson* *OnFullMatrices/msd *OnFullMatrices/log_likelihood
  *OnFullMatrices/dot *OnFullMatrices/jaccard *OnFullMatrices/tfidf *OnFullMatrices/bm25 *OnFullMatrices/rp3 *OnFullMatrices/conditional
  *OnAwkwardMatrices/adjusted_cosine *OnAwkwardMatrices/msd *OnAwkwardMatrices/log_likelihood
  *OnAwkwardMatrices/dot *OnAwkwardMatrices/jaccard *OnAwkwardMatrices/tfidf *OnAwkwardMatrices/bm25
  *WhereFewRowsAreLong/adjusted_cosine *WhereFewRowsAreLong/pearson_* *WhereFewRowsAreLong/msd *WhereFewRowsAreLong/log_likelihood
  *WhereFewRowsAreLong/dot *WhereFewRowsAreLong/jaccard *WhereFewRowsAreLong/tfidf *WhereFewRowsAreLong/bm25 *WhereFewRowsAreLong/conditional
  # predictions for many users by the same loops
  *KnnPredictions*/ManyUsers *KnnPredictions*/AllAreThere *KnnPredictions*/CellsOfSeveralStrips
  # the longest lists of the widest rows; long lists and wide rows stay
  *ScorerShapes.*/14
  # that no answer is lost to rounding, over many rows
  Scorer.*LoseNoAnswer CosineSearch.TellsEqualRows* CosineSearch.FindsTheLists* CosineSearch.DoesNotDepend*
  # what a search finds; that it stops, resumes and keeps a journal stays
  Tune.TheBestOf* Tune.FinalistsAreNotAlike Tune.LaterTrials* Tune.TheBestAre* Tune.TheWinnersWeights* Tune.ASearchEndsNoWorse*
  Tune.TheSameSeed* Tune.TheWinnerIsTrained* Tune.AValueIs*
  Tune.TheChoiceOfAuto* */TuneStopped.*/after_1 */TuneStopped.*/after_9
  Tune.AFinishedJournal* Tune.HalvingTrains*
  # texts of a megabyte
  Model.VeryLong*)
if(LIKEWISE_SANITIZE STREQUAL thread)
  # Also: the same loops over longer or wider rows, for longer lists, over real data and over texts; what compares one thread's sums with those of a
  # dense system; forks that start threads, which this sanitizer does not follow.
  list(APPEND left_out *LongRows* *WideRows* KnnPredictor.SumsAre* MakeInteractions.DoesNot* WriteInteractions.EveryFormat* DensePairs.AddUp*
    *WhereFewRowsAreLong/pearson *WhereFewRowsAreLong/rp3 *ScorerShapes.*/13
    *AlsOnDevice.*/*widths RealData.* MakeInteractions.TextIs* SocketRanks.AProcess*
    GivenConfidence.RowsAre* *ReferenceAls.* *EaseOnDevice.EqualsTheReference/1 *EaseOnDevice.EqualsTheReference/2
    *EaseOnDevice.EqualsTheReference/3 *EaseOnDevice.EqualsTheReference/4 RowsWithoutEntries.ChangeNoScore
    Cpu/RankedKnn.AlsoOneNeighbourAndAll/*)
  # Where the system spreads addresses widely it leaves no room for the thread sanitizer's shadow memory.
  execute_process(COMMAND setarch -R true RESULT_VARIABLE refused OUTPUT_QUIET ERROR_QUIET)
  if(refused EQUAL 0)
    set(LAUNCHER setarch -R)
  endif()
endif()

list(JOIN left_out : left_out)
string(REPLACE "," "-" name sanitize-${LIKEWISE_SANITIZE})
likewise_add_parts(${name} unit_tests 4 "*-${left_out}" "${LAUNCHER}"
  "UBSAN_OPTIONS=print_stacktrace=1;TSAN_OPTIONS=suppressions=${CMAKE_CURRENT_SOURCE_DIR}/tsan.supp")

# The Python package as it lies in the build folder, in a Python that has the sanitizer's runtime from
# the start.
if(NOT TARGET _core)
  return()
endif()
foreach(name libclang_rt.asan-${CMAKE_SYSTEM_PROCESSOR}.so libclang_rt.asan.so)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=${name}
    OUTPUT_VARIABLE runtime OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(IS_ABSOLUTE ${runtime})
    break()
  endif()
endforeach()
if(NOT IS_ABSOLUTE ${runtime})
  message(FATAL_ERROR "${CMAKE_CXX_COMPILER} has no shared runtime of the address sanitizer "
    "(Debian: libclang-rt-dev), which tests of the Python package need")
endif()
file(GLOB fuzz_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/python_package/test_fuzz.py)
add_test(NAME sanitize-address-undefined-python WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
  COMMAND ${Python_EXECUTABLE} -m pytest -q -p no:cacheprovider
    ${CMAKE_CURRENT_SOURCE_DIR}/packages/sanitized_package.py ${fuzz_tests})
# Python itself frees nothing at its end. llvm-symbolizer, the usual choice, hangs under LD_PRELOAD.
find_program(ADDR2LINE addr2line REQUIRED)
set_tests_properties(sanitize-address-undefined-python PROPERTIES COST 60
  FIXTURES_REQUIRED ${LIKEWISE_BUILT} ENVIRONMENT
  "LD_PRELOAD=${runtime};PYTHONPATH=${CMAKE_BINARY_DIR}/python;ASAN_OPTIONS=detect_leaks=0:external_symbolizer_path=${ADDR2LINE};UBSAN_OPTIONS=print_stacktrace=1")
